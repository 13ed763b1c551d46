"""What a call from Python costs above the same call from C, in microseconds.

The least of many short measurements, which others that use the processor disturb least.
"""

import timeit

import calder
from calder import _calder

CALLS, REPEATS = 200, 100


def least(measures):
    """Of each of several measurements, in turn, so that all of them see the same processor."""
    rounds = [[measure() for measure in measures] for _ in range(REPEATS)]
    return [1e6 * min(column) for column in zip(*rounds)]


def timed(call):
    return lambda: timeit.timeit(call, number=CALLS) / CALLS


print("model        from C   from Python   overhead   with lists   sim.q, µs")
for name in ("pendulum", "chain:n=36", "humanoid", "tree:height=5,fanout=3"):
    model = calder.generate(name)
    q, v, _ = model.start
    tau = v.copy()
    lists = q.tolist(), v.tolist(), tau.tolist()
    sim = calder.Simulation(model)
    forward = calder.forward
    inside, outside, plain, view, empty = least(
        [
            lambda: _calder._time_forward(model, q, v, tau, CALLS),
            timed(lambda: forward(model, q, v, tau)),
            timed(lambda: forward(model, *lists)),
            timed(lambda: sim.q),
            timed(lambda: None),  # what the lambda and the loop cost is not the call's
        ]
    )
    outside, plain, view = outside - empty, plain - empty, view - empty
    print(f"{name.split(':')[0]:10} {inside:8.2f} {outside:13.2f} {outside - inside:10.2f} {plain:12.2f} {view:10.2f}")
