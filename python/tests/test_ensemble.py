"""Ensembles: every instance is what a simulation by itself is."""

import unittest

import calder


class Ensembles(unittest.TestCase):
    def test_an_instance_is_a_simulation(self):
        model = calder.generate("tree:height=3,fanout=2")
        starts = [[0.1 * i + 0.01 * j for j in range(model.nq)] for i in range(7)]
        for machine in ("serial", "threads:2"):
            with calder.Ensemble(model, 7, machine=machine) as ensemble:
                ensemble.q = starts
                ensemble.advance(0.25)
                self.assertEqual((len(ensemble), ensemble.time, ensemble.q.shape), (7, 0.25, (7, model.nq)))
                for i in (0, 3, 6):
                    sim = calder.Simulation(model, solver="rk4")
                    sim.q = starts[i]
                    sim.advance(0.25)
                    self.assertEqual(ensemble.q[i], sim.q)
                    self.assertEqual(ensemble.v[i], sim.v)

    def test_other_solvers_and_loops(self):
        for name, keywords in (("bricard", {"solver": "gear"}), ("mobile:s=1,l=3,start=0.8", {"solver": "gear", "tol": 1e-6})):
            model = calder.generate(name)
            ensemble = calder.Ensemble(model, 2, **keywords)
            sim = calder.Simulation(model, **keywords)
            ensemble.advance(0.2)
            sim.advance(0.2)
            self.assertEqual(ensemble.q[1], sim.q)
            self.assertEqual(ensemble.lanes, 1)

    def test_pieces(self):
        model = calder.generate("chain:n=3")
        a, b = calder.Ensemble(model, 3), calder.Ensemble(model, 3)
        a.advance(5)
        for k in range(1, 11):
            b.advance(k / 2)
        self.assertEqual(a.hash, b.hash)

    def test_many_steps(self):
        # Python looks for signals in between, which does not show in the time's last bits.
        ensemble = calder.Ensemble(calder.generate("pendulum"), 2)
        ensemble.step(7, 0.1)
        before = ensemble.time
        ensemble.step(20001, 1e-3)
        self.assertEqual((before, ensemble.time), (7 * 0.1, before + 20001 * 1e-3))

    def test_forces(self):
        model = calder.generate("pendulum").variant(disable="gravity")
        ensemble = calder.Ensemble(model, 3)
        ensemble.set(q=[0], v=[0], tau=[[1], [2], [3]])
        ensemble.set(tau=[0], instance=1)
        ensemble.advance(1)
        for q, tau in zip(ensemble.q, (1, 0, 3)):
            self.assertAlmostEqual(q[0], tau / 2, places=9)
        self.assertAlmostEqual(ensemble.energy[2, 0], 4.5, places=9)
        self.assertEqual(ensemble.poses.shape, (3, 1, 7))

    def test_forward(self):
        model = calder.generate("chain:n=5")
        ensemble = calder.Ensemble(model, 4)
        q = [[0.1 * i] * 5 for i in range(4)]
        out = ensemble.forward(q, [[0] * 5] * 4)
        for i in range(4):
            self.assertEqual(out[i], calder.forward(model, q[i], [0] * 5))

    def test_spread_and_seed(self):
        model = calder.generate("chain:n=5")
        a, b, c = (calder.Ensemble(model, 4, spread=0.1, seed=seed) for seed in (1, 1, 2))
        self.assertEqual(a.hash, b.hash)
        self.assertNotEqual(a.hash, c.hash)
        self.assertNotEqual(a.q[0], a.q[1])

    def test_mistakes(self):
        model = calder.generate("chain:n=5")
        ensemble = calder.Ensemble(model, 4)
        before = ensemble.hash
        with self.assertRaises(ValueError):
            ensemble.q = [[0] * 5] * 3
        with self.assertRaises(ValueError):
            ensemble.q = [float("nan")] * 5
        with self.assertRaises(TypeError):
            ensemble.q[0, 0] = 1
        self.assertTrue(memoryview(ensemble.q).readonly)
        with self.assertRaises(IndexError):
            ensemble.set(q=[0] * 5, instance=4)
        with self.assertRaises(calder.Error):
            ensemble.advance(-1)
        for n in (0, -1, 2**40):
            with self.assertRaises((ValueError, OverflowError)):
                calder.Ensemble(model, n)
        self.assertEqual(ensemble.hash, before)
        ensemble.close()
        for use in (lambda: ensemble.q, lambda: ensemble.advance(1), lambda: ensemble.set(q=[0] * 5)):
            with self.assertRaises(ValueError):
                use()


if __name__ == "__main__":
    unittest.main()
