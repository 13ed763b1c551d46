"""Balances a pole on a cart: a linear policy, found by the cross-entropy method with 32 environments side by side."""

import random
import sys

from calder.env import make, make_vec

SEED = int(sys.argv[1]) if len(sys.argv) > 1 else 1
PEOPLE, ELITE = 32, 6
generator = random.Random(SEED)
envs = make_vec("cartpole", PEOPLE)


def act(weights, observation):
    return [sum(w * x for w, x in zip(weights, observation))]


def try_all(policies, seed):
    """How many steps each policy keeps the pole upright."""
    observations, _ = envs.reset(seed=seed)
    steps, upright = [0] * PEOPLE, [True] * PEOPLE
    for _ in range(envs.task.limit):
        observations, _, failed, over, _ = envs.step([act(p, o) for p, o in zip(policies, observations)])
        upright = [u and not f for u, f in zip(upright, failed)]
        steps = [n + u for n, u in zip(steps, upright)]
        if not any(upright):
            break
    return steps


mean, spread = [0.0] * 4, [2.0] * 4
for round in range(20):
    policies = [[generator.gauss(m, s) for m, s in zip(mean, spread)] for _ in range(PEOPLE)]
    steps = try_all(policies, SEED + 1000 * round)
    order = sorted(range(PEOPLE), key=lambda i: -steps[i])[:ELITE]
    columns = list(zip(*(policies[i] for i in order)))
    mean = [sum(c) / ELITE for c in columns]
    spread = [0.05 + (sum((x - m) ** 2 for x in c) / ELITE) ** 0.5 for c, m in zip(columns, mean)]
    print(f"round {round:2}: mean {sum(steps) / PEOPLE:5.0f} steps, best {max(steps)}")
    if steps[order[-1]] == envs.task.limit and sum(steps) > 0.8 * PEOPLE * envs.task.limit:
        break

env = make("cartpole")
observation, _ = env.reset(seed=SEED + 999_999)
for step in range(env.task.limit):
    observation, _, failed, over, _ = env.step(act(mean, observation))
    if failed or over:
        break
print(f"balanced for {step + 1} steps of {env.task.limit}, {env.sim.time:.2f} s; {env.sim.hash:016x}")
sys.exit(step + 1 < env.task.limit)
