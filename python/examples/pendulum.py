"""A pendulum of one metre: its period from the simulation beside the closed form."""

import math

import calder

model = calder.generate("pendulum:length=1,start=0.5")
sim = calder.Simulation(model, tol=1e-10)

# The pendulum starts at rest: half a period later it is at rest again, on the other side.
low, high = 0.5, 1.5
while high - low > 1e-7:
    middle = (low + high) / 2
    ahead = sim.fork()
    ahead.advance(middle)
    low, high = (middle, high) if ahead.v[0] < 0 else (low, middle)

# The period is 2π √(l/g) / agm(1, cos(start / 2)).
a, b = 1.0, math.cos(0.25)
while a - b > 1e-15:
    a, b = (a + b) / 2, math.sqrt(a * b)
exact = 2 * math.pi * math.sqrt(1 / 9.81) / a
print(f"period: {low + high:.6f} s; closed form: {exact:.6f} s")
assert abs(low + high - exact) < 1e-5
