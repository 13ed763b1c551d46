"""Simulations: the command's bits, closed forms, snapshots, recordings."""

import csv
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

import calder

BALL = """<mujoco><worldbody>
  <geom type="plane" size="5 5 1"/>
  <body name="ball" pos="0 0 2"><freejoint/><geom type="sphere" size="0.1" mass="2"/></body>
</worldbody></mujoco>"""

SERVO = """<mujoco><option gravity="0 0 0"/><worldbody>
  <body name="arm"><joint name="hinge" axis="0 0 1"/><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/></body>
</worldbody><actuator><motor name="motor" joint="hinge"/></actuator></mujoco>"""


def command_hash(model, *options):
    out = subprocess.run(
        [os.environ["CALDER_COMMAND"], "sim", model, "--json", *options], check=True, capture_output=True, text=True
    )
    return json.loads(out.stdout)["state_hash"]


def hash_of(sim):
    return f"{sim.hash:016x}"


class Sensors(unittest.TestCase):
    def test_a_joint_and_a_clock(self):
        model = calder.loads(SERVO.replace("</mujoco>", """<sensor><jointpos name="angle" joint="hinge"/><clock/>
            <framequat objtype="body" objname="arm"/></sensor></mujoco>"""))
        self.assertEqual(dict(model.sensors), {"angle": 0, "sensor1": 1, "sensor2": 2})
        sim = calder.Simulation(model)
        sim.set(v=[0.5])
        sim.advance(0.4)
        self.assertEqual(list(sim.sensor("angle")), list(sim.q))
        self.assertEqual(list(sim.sensor(1)), [0.4])
        for a, b in zip(sim.sensor("sensor2"), [math.cos(0.1), 0, 0, math.sin(0.1)]):
            self.assertAlmostEqual(a, b, places=6)
        self.assertRaises(KeyError, sim.sensor, "speed")
        sim.close()
        self.assertRaises(calder.Error, sim.sensor, "angle")


class Bits(unittest.TestCase):
    """A simulation has the bits of 'calder sim', which ends its advances at frames."""

    def check(self, model, time, *options, **keywords):
        with calder.Simulation(calder.generate(model), **keywords) as sim:
            sim.advance(time)
            self.assertEqual(hash_of(sim), command_hash(model, "--time", str(time), *options))

    def test_tree(self):
        self.check("mobile:s=2,l=3,o=4", 2, "--tol", "1e-6", tol=1e-6)

    def test_fixed_step(self):
        self.check("chain:n=8", 0.5, "--solver", "rk4", solver="rk4")

    def test_loops(self):
        self.check("bricard", 2)

    def test_contact(self):
        self.check("stickman:floor=1", 1)

    def test_threads(self):
        self.check("mobile:s=2,l=3,o=4", 1, machine="threads:2")

    def test_assembly(self):
        self.check("chain:n=64", 0.2, "--algorithm", "assembly", algorithm="assembly")

    def test_pieces(self):
        for name in ("mobile:s=2,l=3,o=4", "stickman:floor=1"):
            model = calder.generate(name)
            one, many = calder.Simulation(model), calder.Simulation(model)
            one.advance(0.7)
            for k in range(1, 71):
                many.advance(min(k / 100, 0.7))
            self.assertEqual(one.hash, many.hash)


class Mechanics(unittest.TestCase):
    def test_pendulum_keeps_its_energy(self):
        sim = calder.Simulation(calder.generate("pendulum:length=2,mass=3,start=1"), tol=1e-10)
        start = sum(sim.energy)
        sim.advance(10)
        # Every step may be wrong by the tolerance, of the energy that goes to and fro.
        swing = 3 * 9.81 * 2 * (1 - math.cos(1))
        self.assertAlmostEqual(sum(sim.energy), start, delta=sim.report["steps"] * 1e-10 * swing)

    def test_energy_balances(self):
        sim = calder.Simulation(calder.generate("tree:height=3,damping=0.2,start=1"), tol=1e-8)
        start = sum(sim.energy)
        sim.advance(1)
        balance = sim.balance
        self.assertGreater(balance.loss, 0)
        self.assertEqual(balance.work, 0)
        self.assertAlmostEqual(sum(sim.energy), start - balance.loss, delta=1e-5 * balance.exchanged)
        self.assertLess(abs(balance.relative), balance.justified)
        self.assertFalse(balance.exploded)

    def test_free_fall(self):
        model = calder.loads(BALL)
        sim = calder.Simulation(model)
        sim.advance(0.5)
        self.assertAlmostEqual(sim.q[2], 2 - 9.81 * 0.125, places=12)
        self.assertAlmostEqual(sim.v[2], -9.81 * 0.5, places=12)
        self.assertAlmostEqual(sim.accelerations[2], -9.81, places=12)

    def test_contacts_carry_the_weight(self):
        sim = calder.Simulation(calder.loads(BALL))
        self.assertEqual(sim.contacts, [])
        sim.advance(3)
        self.assertAlmostEqual(sim.q[2], 0.1, places=3)
        (contact,) = sim.contacts
        self.assertEqual(sorted(contact.bodies), [-1, 0])
        up = contact.force[2] if contact.bodies[0] == 0 else -contact.force[2]
        self.assertAlmostEqual(up, 2 * 9.81, delta=0.02)
        self.assertAlmostEqual(abs(contact.normal[2]), 1)
        self.assertGreater(sim.report["collisions"], 0)

    def test_without_contact_it_falls_through(self):
        sim = calder.Simulation(calder.loads(BALL), contact=False, tol=1e-10)
        sim.advance(1)
        self.assertAlmostEqual(sim.q[2], 2 - 9.81 / 2, places=7)

    def test_control_and_tau(self):
        model = calder.loads(SERVO)
        for field in ("control", "tau"):
            sim = calder.Simulation(model, tol=1e-10)
            getattr(sim, field)[0] = 2.0
            sim.advance(1)
            self.assertAlmostEqual(sim.q[0], 1.0, places=8)
            self.assertEqual(getattr(sim, field), [2.0])
            setattr(sim, field, [0.0])
            sim.advance(2)
            self.assertAlmostEqual(sim.q[0], 3.0, places=8)

    def test_push_and_release(self):
        sim = calder.Simulation(calder.loads(SERVO), tol=1e-10)
        sim.push("arm", torque=(0, 0, 2))
        sim.advance(1)
        sim.release()
        sim.advance(2)
        self.assertAlmostEqual(sim.q[0], 3.0, places=8)

    def test_joint_forces_hold_a_pendulum(self):
        sim = calder.Simulation(calder.generate("pendulum:mass=3,start=0"))
        self.assertAlmostEqual(math.hypot(*sim.joint_forces[0, :3]), 3 * 9.81, places=9)

    def test_constraints(self):
        model = calder.generate("pendulum:form=distance")
        sim = calder.Simulation(model, tol=1e-10)
        self.assertTrue(sim.connected(0))
        rows, wrench = sim.constraint_forces(0)
        self.assertEqual((rows.shape, wrench.shape), ((1,), (6,)))
        sim.disconnect(0)
        self.assertFalse(sim.connected(0))
        before, speed = sim.q.copy(), sim.v.copy()
        sim.advance(0.3)
        fall = [x - (x0 + 0.3 * s) for x, x0, s in zip(sim.q, before, speed)][:3]
        self.assertAlmostEqual(math.hypot(*fall), 9.81 * 0.3**2 / 2, places=7)
        with self.assertRaises(calder.Error):
            sim.connect(0)
        self.assertIn("constraint_error", sim.report)


class Writing(unittest.TestCase):
    def setUp(self):
        self.model = calder.generate("chain:n=4,joint=ball")
        self.sim = calder.Simulation(self.model)

    def test_arrays_show_the_present(self):
        q = self.sim.q
        before = q.tolist()
        self.sim.advance(0.1)
        self.assertNotEqual(q.tolist(), before)
        self.assertEqual(q, self.sim.q)

    def test_every_way_of_writing_is_the_same(self):
        q = calder.Simulation(calder.generate("chain:n=4,joint=ball,start=0.4")).q.tolist()
        ways = [calder.Simulation(self.model) for _ in range(4)]
        ways[0].q = q
        ways[1].q[:] = q
        memoryview(ways[2].q)[:] = memoryview(ways[0].q.copy())
        ways[3].set(q=q)
        self.assertEqual(len({s.hash for s in ways}), 1)
        for s in ways:
            s.advance(0.5)
        self.assertEqual(len({s.hash for s in ways}), 1)

    def test_quaternions_are_normalised(self):
        self.sim.q[0:4] = [2, 0, 0, 0]
        self.assertEqual(self.sim.q[0:4], [1, 0, 0, 0])

    def test_what_is_refused_changes_nothing(self):
        before, bits = self.sim.q.tolist(), self.sim.hash
        for bad in (math.nan, math.inf):
            with self.assertRaises(calder.Error) as caught:
                self.sim.q[3] = bad
            self.assertEqual(caught.exception.status, "bad_argument")
            with self.assertRaises(calder.Error):
                self.sim.v = [bad] * self.model.nv
            with self.assertRaises(calder.Error):
                self.sim.tau[:] = bad
            memoryview(self.sim.q)[3] = bad
            with self.assertRaises(calder.Error):
                self.sim.advance(1)
        with self.assertRaises(calder.Error):
            self.sim.q[0:4] = 0
        with self.assertRaises(ValueError):
            self.sim.set(v=[0.5] * self.model.nv, q=[1, 2])
        self.assertEqual((self.sim.q.tolist(), self.sim.hash, self.sim.time), (before, bits, 0.0))
        self.assertEqual(self.sim.tau, [0.0] * self.model.nv)

    def test_time_can_be_set(self):
        self.sim.set(time=5)
        self.assertEqual(self.sim.time, 5)


class Snapshots(unittest.TestCase):
    def check(self, name, **keywords):
        model = calder.generate(name)
        sim = calder.Simulation(model, **keywords)
        sim.advance(0.3)
        kept = sim.snapshot()
        fork = sim.fork()
        sim.advance(0.6)
        after = sim.hash
        fork.advance(0.6)
        self.assertEqual(fork.hash, after)
        sim.restore(kept)
        self.assertEqual(sim.time, 0.3)
        sim.advance(0.6)
        self.assertEqual(sim.hash, after)
        other = calder.Simulation(model, **keywords)
        del sim, fork
        other.restore(kept)
        other.advance(0.6)
        self.assertEqual(other.hash, after)

    def test_tree(self):
        self.check("mobile:s=2,l=3,o=4")

    def test_contact(self):
        self.check("stickman:floor=1")

    def test_threads(self):
        self.check("mobile:s=2,l=3,o=4", machine="threads:2")

    def test_forces_come_back(self):
        sim = calder.Simulation(calder.generate("pendulum"))
        sim.tau = [1.5]
        kept = sim.snapshot()
        sim.tau = [0]
        sim.restore(kept)
        self.assertEqual(sim.tau, [1.5])
        self.assertEqual(sim.fork().tau, [1.5])

    def test_of_another_model(self):
        kept = calder.Simulation(calder.generate("pendulum")).snapshot()
        sim = calder.Simulation(calder.generate("chain:n=3"))
        with self.assertRaisesRegex(calder.Error, "another model"):
            sim.restore(kept)


class Recordings(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)

    def test_csv_has_the_commands_rows(self):
        sim = calder.Simulation(calder.generate("chain:n=3"))
        sim.record(self.path("a.csv"), fps=30)
        sim.advance(0.45)
        sim.advance(1.01)
        sim.close()
        subprocess.run(
            [os.environ["CALDER_COMMAND"], "sim", "chain:n=3", "--time", "1.01", "--fps", "30", "--out", self.path("b.csv")],
            check=True,
            capture_output=True,
        )
        with open(self.path("a.csv")) as a, open(self.path("b.csv")) as b:
            ours, theirs = list(csv.reader(a)), list(csv.reader(b))
        self.assertEqual(len(ours), 1 + 31 + 1)
        self.assertEqual(ours, theirs)

    def test_close_by_hand(self):
        sim = calder.Simulation(calder.generate("pendulum"))
        with sim.record(self.path("a.csv"), fps=10, columns="q") as recorder:
            sim.advance(1)
            self.assertFalse(recorder.closed)
        self.assertTrue(recorder.closed)
        recorder.close()
        sim.advance(2)
        with open(recorder.path) as file:
            self.assertEqual(len(file.readlines()), 12)

    def test_pictures(self):
        sim = calder.Simulation(calder.generate("pendulum"))
        sim.record(self.path("a.glb"))
        if calder.has_page:
            sim.record(self.path("a.html"), title="a pendulum")
        sim.advance(0.5)
        del sim
        with open(self.path("a.glb"), "rb") as file:
            self.assertEqual(file.read(4), b"glTF")
        if calder.has_page:
            with open(self.path("a.html"), encoding="utf-8") as file:
                self.assertIn("a pendulum", file.read())

    @unittest.skipUnless(calder.has_page, "this build has no page")
    def test_view(self):
        program = (
            "import calder\n"
            "sim = calder.Simulation(calder.generate('pendulum'))\n"
            "while sim.time == 0:\n"
            "    sim.view(open=False, seconds=0.5)\n"
            "time = sim.time\n"
            "sim.advance(time + 1)\n"
            "print(time > 0, len(sim.q))\n"
        )
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
        self.assertEqual(run.stderr, "")
        address, *_, result = run.stdout.splitlines()
        self.assertRegex(address, r"^http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{32} ")
        self.assertEqual(result, "True 1")

    def test_mistakes(self):
        sim = calder.Simulation(calder.generate("pendulum"))
        for path, keywords in (("a.avi", {}), ("a.csv", {"fps": 0}), ("a.glb", {"columns": "q"})):
            with self.assertRaises(ValueError):
                sim.record(self.path(path), **keywords)
        with self.assertRaises(calder.Error):
            sim.record(self.path("no/folder/a.csv"))
        with self.assertRaises(calder.Error):
            sim.record(self.path("a.csv"), columns="q,nonsense")
        sim.advance(0.1)


if __name__ == "__main__":
    unittest.main()
