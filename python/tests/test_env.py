"""Environments: Gymnasium's calling convention, seeds, resets, and mistakes that raise."""

import math
import unittest

import calder
from calder.env import Box, CartPole, Stand, Task, make, make_vec


def plain(rows):
    return [list(row) for row in rows]


class Short(CartPole):
    limit = 3


class Conventions(unittest.TestCase):
    def test_single(self):
        env = make("cartpole")
        with self.assertRaises(RuntimeError):
            env.step([0])
        observation, info = env.reset(seed=1)
        self.assertEqual((len(observation), info), (4, {}))
        self.assertIn(observation, env.observation_space)
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        self.assertEqual((reward, terminated, truncated, info), (1.0, False, False, {}))
        self.assertEqual(env.sim.time, env.task.frame)
        env.close()
        with self.assertRaises(ValueError):
            env.step([0])

    def test_a_pole_that_is_left_alone_falls_and_time_ends(self):
        env = make("cartpole")
        env.reset(seed=2)
        steps, terminated = 0, False
        while not terminated:
            _, _, terminated, truncated, _ = env.step([0])
            steps += 1
        self.assertLess(steps, 200)
        self.assertFalse(truncated)
        env = make(Short())
        env.reset(seed=2)
        self.assertEqual([env.step([0])[3] for _ in range(3)], [False, False, True])

    def test_one_seed_one_result(self):
        def hash_of(seed):
            env = make("stand")
            env.reset(seed=5)
            env.step([0.1, 0, 0, 0])
            env.reset(seed=seed)  # what was before does not matter
            for _ in range(5):
                env.step([0.1, -0.1, 0.05, 0])
            return env.sim.hash

        self.assertEqual(hash_of(3), hash_of(3))
        self.assertNotEqual(hash_of(3), hash_of(4))

    def test_a_vector_is_made_of_single_ones(self):
        for name, action in (("cartpole", [0.3]), ("stand", [0.1, 0.05, 0, 0])):
            envs = make_vec(name, 3)
            together, _ = envs.reset(seed=7)
            singles = [make(name) for _ in range(3)]
            alone = [env.reset(seed=7 + i)[0] for i, env in enumerate(singles)]
            self.assertEqual(plain(together), plain(alone))
            for _ in range(6):
                together, rewards, *_ = envs.step([action] * 3)
                steps = [env.step(action) for env in singles]
                self.assertEqual(plain(together), plain(step[0] for step in steps))
                self.assertEqual(list(rewards), [step[1] for step in steps])
            self.assertEqual(envs.ensemble.control.tolist(), [env.sim.control.tolist() for env in singles])

    def test_episodes_that_are_over_begin_again(self):
        envs = make_vec(Short(), 2)
        envs.reset(seed=1)
        over = [list(envs.step([[0], [0]])[3]) for _ in range(3)]
        self.assertEqual(over, [[False] * 2, [False] * 2, [True] * 2])
        observations, rewards, terminated, truncated, _ = envs.step([[1], [1]])
        self.assertEqual((list(rewards), list(terminated), list(truncated)), ([0, 0], [False] * 2, [False] * 2))
        self.assertTrue(all(abs(x) <= 0.05 for row in observations for x in row))
        self.assertEqual(list(envs.step([[1], [1]])[1]), [1, 1])

    def test_a_task_of_ones_own(self):
        class Swing(Task):
            model = calder.loads(CartPole.text)
            action_space = Box([-1], [1])
            observation_space = Box([-math.inf] * 4, [math.inf] * 4)

            def start(self, generator):
                return [0, math.pi], [0, 0]

        env = make(Swing(), tol=1e-8)
        env.reset()
        for _ in range(10):
            observation = env.step([0])[0]
        self.assertAlmostEqual(observation[1], math.pi)


class Mistakes(unittest.TestCase):
    def test_actions(self):
        env, envs = make("cartpole"), make_vec("cartpole", 2)
        env.reset(seed=1), envs.reset(seed=1)
        before = env.sim.hash
        for action in ([], [1, 2], [math.nan], ["a"], 3, None):
            with self.subTest(action=action), self.assertRaises((TypeError, ValueError)):
                env.step(action)
            with self.subTest(action=action), self.assertRaises((TypeError, ValueError)):
                envs.step([action, action])
        with self.assertRaises(ValueError):
            envs.step([[0]])
        self.assertEqual(env.sim.hash, before)

    def test_making(self):
        with self.assertRaises(ValueError):
            make("moonwalk")
        with self.assertRaises(calder.Error):
            make("cartpole", solver="magic")
        with self.assertRaises(ValueError):
            make_vec("cartpole", 0)
        with self.assertRaises(ValueError):
            make_vec("cartpole", 2).reset(seed=[1])
        with self.assertRaises(ValueError):
            Box([1], [0])

    def test_boxes(self):
        box = Box([-1, -math.inf, 0], [1, math.inf, math.inf])
        self.assertIn(box.sample(), box)
        self.assertNotIn([2, 0, 0], box)
        self.assertNotIn([0, 0], box)
        self.assertNotIn(None, box)
        box.seed(4)
        first = list(box.sample())
        box.seed(4)
        self.assertEqual(list(box.sample()), first)
        self.assertEqual(Stand().action_space.shape, (4,))


class Humanoid(unittest.TestCase):
    """The generator's humanoid on its floor: it falls by itself, and a linear policy keeps it up."""

    def stand(self, ahead, aside):
        with make("humanoid") as env:
            observation, _ = env.reset(seed=3)
            failed = over = False
            steps = 0
            while not failed and not over:
                pitch = sum(w * x for w, x in zip(ahead, observation[0:8:2]))
                roll = sum(w * x for w, x in zip(aside, observation[1:8:2]))
                observation, _, failed, over, _ = env.step([pitch, 0, 0, roll])
                steps += 1
            return steps, failed

    def test_it_needs_a_policy_and_there_is_one(self):
        steps, failed = self.stand([0] * 4, [0] * 4)
        self.assertTrue(failed and steps < 80)
        self.assertEqual(self.stand([4, 2, 2, 1], [2, 0, 1, 0]), (160, False))


if __name__ == "__main__":
    unittest.main()
