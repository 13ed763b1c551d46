"""Makes a humanoid stand that is pushed: a linear policy, found by the cross-entropy method with environments side by side."""

import random
import sys

from calder.env import make, make_vec

SEED = int(sys.argv[1]) if len(sys.argv) > 1 else 1
PEOPLE, ELITE, STEPS = 16, 4, 50
generator = random.Random(SEED)
envs = make_vec("stand", PEOPLE, machine="threads")


def act(weights, observation):
    """Ankles answer to place, lean and their velocities: those ahead (even entries) by pitch, those sideways (odd ones) by roll."""
    ahead, aside = observation[0:8:2], observation[1:8:2]
    pitch = sum(w * x for w, x in zip(weights[:4], ahead))
    roll = sum(w * x for w, x in zip(weights[4:], aside))
    return [pitch, roll, 0, 0]


def try_all(policies, seed):
    """What each policy earns until it falls."""
    observations, _ = envs.reset(seed=[seed] * PEOPLE)  # all are pushed alike
    earned, standing = [0.0] * PEOPLE, [True] * PEOPLE
    for _ in range(STEPS):
        observations, rewards, failed, _, _ = envs.step([act(p, o) for p, o in zip(policies, observations)])
        standing = [s and not f for s, f in zip(standing, failed)]
        earned = [e + r * s for e, r, s in zip(earned, rewards, standing)]
    return earned


def stand(weights, seed):
    """For how many steps a policy stands."""
    env = make("stand")
    observation, _ = env.reset(seed=seed)
    failed = over = False
    steps = 0
    while not failed and not over:
        observation, _, failed, over, _ = env.step(act(weights, observation))
        steps += 1
    print(f"stands for {env.sim.time:.2f} s; {env.sim.hash:016x}")
    return steps - failed


mean, spread = [0.0] * 8, [1.5] * 8
print("untrained: ", end="")
stand(mean, SEED + 999_999)
for round in range(10):
    policies = [[generator.gauss(m, s) for m, s in zip(mean, spread)] for _ in range(PEOPLE)]
    earned = try_all(policies, SEED + 1000 * round)
    order = sorted(range(PEOPLE), key=lambda i: -earned[i])[:ELITE]
    columns = list(zip(*(policies[i] for i in order)))
    mean = [sum(c) / ELITE for c in columns]
    spread = [0.1 + (sum((x - m) ** 2 for x in c) / ELITE) ** 0.5 for c, m in zip(columns, mean)]
    print(f"round {round:2}: mean {sum(earned) / PEOPLE:5.1f}, best {max(earned):5.1f} of {STEPS}")
    if sum(earned) > 0.95 * PEOPLE * STEPS:
        break
print("trained: ", end="")
sys.exit(stand(mean, SEED + 999_999) < envs.task.limit)
