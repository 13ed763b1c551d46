"""Calder: articulated bodies, closed loops and contact, with the same bits on every machine.

    import calder

    model = calder.load("robot.xml")            # MJCF or URDF; calder.generate("mobile:s=3") makes one
    sim = calder.Simulation(model, tol=1e-6)
    sim.advance(1.0)                            # to t = 1 s
    print(sim.time, sim.q, f"{sim.hash:016x}")

Units are SI, angles are radians, quaternions are (w, x, y, z). q and v follow MuJoCo's order. docs/python.md has more.
"""

from ._calder import (
    Array,
    Balance,
    Contact,
    DeviceArray,
    Energy,
    Ensemble,
    Error,
    Model,
    Recorder,
    Simulation,
    Snapshot,
    __version__,
    algorithms,
    center,
    difference,
    displace,
    energy,
    forward,
    forward_derivatives,
    generate,
    generators,
    has_page,
    inverse,
    inverse_derivatives,
    jacobian,
    load,
    loads,
    mass_matrix,
    motion,
    plan,
    poses,
    site,
    solvers,
)

__all__ = [
    "Array", "Balance", "Contact", "DeviceArray", "Energy", "Ensemble", "Error", "Model", "Recorder", "Simulation", "Snapshot", "__version__",
    "algorithms", "center", "difference", "displace", "energy", "forward", "forward_derivatives", "generate", "generators", "has_page", "inverse",
    "inverse_derivatives", "jacobian", "load", "loads", "mass_matrix", "motion", "plan", "poses", "site", "solvers",
]  # fmt: skip
