"""Models: where they come from, what they know, dynamics at any state."""

import math
import os
import pathlib
import pickle
import tempfile
import threading
import unittest

import calder

MODELS = pathlib.Path(__file__).resolve().parents[2] / "tests" / "models"


class Sources(unittest.TestCase):
    def test_generate(self):
        model = calder.generate("mobile:s=2,l=3,o=4")
        self.assertEqual((model.nq, model.nv, len(model.bodies), len(model.joints)), (15, 15, 15, 15))
        self.assertGreater(model.mass, 0)
        self.assertEqual(model.info["nq"], 15)
        self.assertIn("mobile", calder.generators())

    def test_load(self):
        for path in (MODELS / "joints.xml", str(MODELS / "joints.xml")):
            self.assertEqual(calder.load(path).nv, 19)
        model = calder.load(MODELS / "floating.urdf")
        self.assertEqual(len(model.issues), 1)
        self.assertEqual(set(model.issues[0]), {"kind", "file", "line", "count", "element", "consequence"})

    @unittest.skipUnless(hasattr(os, "mkfifo"), "there are no pipes with names")
    def test_a_file_that_can_be_read_once(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "pipe.xml")
            os.mkfifo(path)
            text = "<mujoco><worldbody><body><joint/><geom size='0.1'/></body></worldbody></mujoco>"
            writer = threading.Thread(target=lambda: pathlib.Path(path).write_text(text))
            writer.start()
            self.assertEqual(calder.load(path).nv, 1)
            writer.join()

    def test_mistakes_have_the_engines_line(self):
        with self.assertRaisesRegex(calder.Error, "no-such-file.xml") as caught:
            calder.load("no-such-file.xml")
        self.assertIsInstance(caught.exception.status, str)
        with self.assertRaises(calder.Error) as caught:
            calder.loads("<mujoco><worldbody><body></mujoco>", name="broken.xml")
        self.assertIn("broken.xml", str(caught.exception))
        with self.assertRaises(calder.Error):
            calder.generate("mobile:s=-3")

    def test_names(self):
        model = calder.load(MODELS / "replicate.xml")
        for names in (model.bodies, model.joints, model.actuators):
            self.assertEqual(sorted(names.values()), list(range(len(names))))
        name = list(model.joints)[3]
        joint = model.joint(name)
        self.assertEqual((joint["index"], joint["name"]), (3, name))
        self.assertEqual(joint["q"], slice(3, 4))
        with self.assertRaises(KeyError):
            model.bodies["nobody"]
        with self.assertRaises(KeyError):
            model.body("nobody")
        with self.assertRaises(IndexError):
            model.body(-1)
        with self.assertRaises(TypeError):
            model.bodies["new"] = 3

    def test_pickle(self):
        generated = calder.generate("chain:n=5")
        text = (MODELS / "joints.xml").read_text()
        loaded = calder.load(MODELS / "include.xml")
        for model in (generated, calder.loads(text), loaded, generated.variant(disable="gravity")):
            again = pickle.loads(pickle.dumps(model))
            self.assertEqual(again.info, model.info)
            a, b = calder.Simulation(model, contact=False), calder.Simulation(again, contact=False)
            a.advance(0.1)
            b.advance(0.1)
            self.assertEqual(a.hash, b.hash)

    def test_variant(self):
        weightless = calder.generate("pendulum").variant(disable=["gravity"])
        self.assertEqual(weightless.nv, 1)
        self.assertEqual(calder.forward(weightless, [0.5], [0]), [0])
        with self.assertRaisesRegex(ValueError, "magic"):
            weightless.variant(disable="magic")

    def test_write(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "chain.xml")
            model = calder.generate("chain:n=5")
            model.write(path)
            self.assertEqual(calder.load(path).nv, 5)


class Dynamics(unittest.TestCase):
    def test_pendulum(self):
        model = calder.generate("pendulum:length=2,mass=3,damping=0.5")
        (qdd,) = calder.forward(model, [0.7], [0.3], [1.5])
        expected = (1.5 - 0.5 * 0.3 - 3 * 9.81 * 2 * math.sin(0.7)) / (3 * 4)
        self.assertAlmostEqual(qdd, expected, places=12)
        self.assertAlmostEqual(calder.mass_matrix(model, [0.7])[0, 0], 12, places=12)
        kinetic, potential = calder.energy(model, [0.7], [0.3])
        self.assertAlmostEqual(kinetic, 0.5 * 12 * 0.09, places=12)

    def test_inverse_is_the_inverse(self):
        model = calder.generate("figure")
        q, v, _ = model.start
        v[:] = [0.1 * math.sin(i) for i in range(model.nv)]
        tau = [math.cos(i) for i in range(model.nv)]
        qdd = calder.forward(model, q, v, tau)
        for a, b in zip(calder.inverse(model, q, v, qdd), tau):
            self.assertAlmostEqual(a, b, places=8)

    def test_mass_matrix(self):
        model = calder.generate("chain:n=6")
        q, v, _ = model.start
        M = calder.mass_matrix(model, q)
        self.assertEqual(M.shape, (6, 6))
        still = calder.forward(model, q, v)
        for i in range(6):
            unit = [float(i == j) for j in range(6)]
            gain = [a - b for a, b in zip(calder.forward(model, q, v, M[i]), still)]
            for a, b in zip(gain, unit):
                self.assertAlmostEqual(a, b, places=8)

    def test_jacobian_is_the_derivative_of_poses(self):
        model = calder.generate("chain:n=4")
        q, _, _ = model.start
        J = calder.jacobian(model, q, 3)
        self.assertEqual(J.shape, (6, 4))
        h = 1e-6
        for i in range(4):
            up, down = q.copy(), q.copy()
            up[i] += h
            down[i] -= h
            a, b = calder.poses(model, up)[3], calder.poses(model, down)[3]
            for k in range(3):
                self.assertAlmostEqual((a[k] - b[k]) / (2 * h), J[k, i], places=8)

    def test_positions_are_displaced_and_compared(self):
        model = calder.generate("stickman")
        q, _, _ = model.start
        v = [0.3 * math.sin(i + 1) for i in range(model.nv)]
        moved = calder.displace(model, q, v, 0.5)
        self.assertEqual(len(moved), model.nq)
        for a, b in zip(calder.difference(model, q, moved), v):
            self.assertAlmostEqual(a, 0.5 * b, places=14)
        h = 1e-5
        ahead, _ = calder.center(model, calder.displace(model, q, v, h))
        behind, _ = calder.center(model, calder.displace(model, q, v, -h))
        _, J = calder.center(model, q)
        for i in range(3):
            rate = sum(J[i, k] * v[k] for k in range(model.nv))
            self.assertAlmostEqual(rate, (ahead[i] - behind[i]) / (2 * h), places=8)
        self.assertRaises(TypeError, calder.displace, model, None, v)
        self.assertRaises(ValueError, calder.difference, model, q, q[:3])

    def test_derivatives_are_what_differences_say(self):
        model = calder.generate("stickman")
        q, _, _ = model.start
        v = [0.3 * math.sin(i + 1) for i in range(model.nv)]
        by_q, by_v, by_tau, by_control = calder.forward_derivatives(model, q, v)
        self.assertEqual((len(by_q), len(by_control)), (model.nv, model.nv))
        _, _, mass = calder.inverse_derivatives(model, q, v)
        h = 1e-5
        for k in (0, 4, 20, model.nv - 1):
            along = [float(i == k) for i in range(model.nv)]
            ahead = calder.forward(model, calder.displace(model, q, along, h), v)
            behind = calder.forward(model, calder.displace(model, q, along, -h), v)
            faster = calder.forward(model, q, [a + h * b for a, b in zip(v, along)])
            slower = calder.forward(model, q, [a - h * b for a, b in zip(v, along)])
            scale = 1 + max(abs(by_q[i, k]) + abs(by_v[i, k]) for i in range(model.nv))
            for i in range(model.nv):
                self.assertLess(abs((ahead[i] - behind[i]) / (2 * h) - by_q[i, k]), 1e-5 * scale)
                self.assertLess(abs((faster[i] - slower[i]) / (2 * h) - by_v[i, k]), 1e-5 * scale)
                self.assertAlmostEqual(
                    sum(by_tau[i, j] * mass[j, k] for j in range(model.nv)), float(i == k), places=10
                )
        J = calder.jacobian(model, q, 5, (0.1, 0, 0.2))
        velocity, _ = calder.motion(model, q, v, 5, (0.1, 0, 0.2))
        for i in range(6):
            self.assertAlmostEqual(sum(J[i, k] * v[k] for k in range(model.nv)), velocity[i], places=12)
        # In free fall without a turn everything falls.
        fall = [0.0, 0.0, -9.81] + [0.0] * (model.nv - 3)
        _, acceleration = calder.motion(model, q, [0.0] * model.nv, 5, qdd=fall)
        self.assertEqual([round(a, 12) for a in acceleration], [0, 0, -9.81, 0, 0, 0])
        self.assertRaises(TypeError, calder.motion, model, q, v)
        self.assertRaises(TypeError, calder.forward_derivatives, model, q)
        self.assertRaises(ValueError, calder.inverse_derivatives, model, q, v[:2])

    def test_constraints_act_when_asked(self):
        model = calder.generate("pendulum:form=distance")
        q, v, _ = model.start
        free = calder.forward(model, q, v)
        held = calder.forward(model, q, v, constraints=True)
        self.assertAlmostEqual(math.hypot(*free[:3]), 9.81, places=10)
        self.assertAlmostEqual(math.hypot(*held[:3]), 9.81 * math.sin(0.5), places=8)

    def test_large_models(self):
        model = calder.generate("chain:n=400")
        q, v, _ = model.start
        self.assertEqual(len(calder.forward(model, q, v)), 400)


if __name__ == "__main__":
    unittest.main()
