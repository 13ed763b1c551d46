"""A thousand pendulums at once: how far each swings, by how hard it was pushed."""

import calder

model = calder.generate("pendulum:start=0,damping=0.1")
count = 1000
speeds = [[8.0 * i / count] for i in range(count)]

with calder.Ensemble(model, count, step=0.01) as batch:
    batch.set(q=[0.0], v=speeds)
    farthest = [0.0] * count
    for tick in range(1, 201):
        batch.advance(tick / 100)
        farthest = [max(far, q[0]) for far, q in zip(farthest, batch.q)]
    print(f"{batch.report['evaluations']} evaluations, {batch.lanes} instances per instruction")

over = sum(far > 3.141592653589793 for far in farthest)
print(f"{over} of {count} went over the top; the slowest of them began with {speeds[count - over][0]:.2f} rad/s")
assert 0 < over < count
