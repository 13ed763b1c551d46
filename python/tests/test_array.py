"""Arrays by themselves, with memory views, and with NumPy where it is there."""

import array
import unittest

import calder

try:
    import numpy
except ImportError:
    numpy = None


class Arrays(unittest.TestCase):
    def setUp(self):
        self.model = calder.generate("chain:n=4")
        self.poses = calder.poses(self.model, self.model.start[0])
        self.q = self.model.start[0]

    def test_indices(self):
        self.q[:] = [1, 2, 3, 4]
        self.assertEqual((self.q[0], self.q[-1], len(self.q)), (1.0, 4.0, 4))
        self.assertEqual(self.q[1:3], [2, 3])
        self.assertEqual(self.q[::-2], [4, 2])
        self.assertEqual(self.q[3:1].tolist(), [])
        self.assertEqual(self.q[:: 2**62].tolist(), [1])
        self.assertEqual([x for x in self.q], [1, 2, 3, 4])
        self.assertEqual(repr(self.q), "Array([1.0, 2.0, 3.0, 4.0])")
        for bad in (4, -5, 2**80, (0, 0)):
            with self.assertRaises(IndexError):
                self.q[bad]
        for bad in (1.0, "a", None, ..., (0.5,)):
            with self.assertRaises(TypeError):
                self.q[bad]
        with self.assertRaises(ValueError):
            self.q[::0]

    def test_two_dimensions(self):
        table = self.poses.tolist()
        self.assertEqual(self.poses.shape, (4, 7))
        self.assertEqual(self.poses[2, 3], table[2][3])
        self.assertEqual(self.poses[1:, 2], [row[2] for row in table[1:]])
        self.assertEqual(self.poses[2][1:3], table[2][1:3])
        self.assertEqual(self.poses[:, ::3].shape, (4, 3))
        self.poses[1] = 0
        self.assertEqual(self.poses[1], [0] * 7)
        self.poses[:, 0] = [1, 2, 3, 4]
        self.assertEqual([row[0] for row in self.poses], [1, 2, 3, 4])
        self.poses[:] = table
        self.assertEqual(self.poses, table)

    def test_overlapping_assignment(self):
        self.q[:] = [1, 2, 3, 4]
        self.q[1:] = self.q[:-1]
        self.assertEqual(self.q, [1, 1, 2, 3])
        self.q[::-1] = self.q
        self.assertEqual(self.q, [3, 2, 1, 1])

    def test_writing_mistakes(self):
        before = self.q.tolist()
        for value, error in (([1, 2], ValueError), ("abcd", TypeError), (["a"] * 4, TypeError), (None, TypeError)):
            with self.assertRaises(error):
                self.q[:] = value
        with self.assertRaises(TypeError):
            del self.q[0]
        with self.assertRaises(TypeError):
            self.q[0] = [1]
        with self.assertRaises(TypeError):
            calder.Array()
        with self.assertRaises(TypeError):
            hash(self.q)
        self.assertEqual(self.q, before)

    def test_equality(self):
        self.assertTrue(self.q == self.q.copy())
        self.assertTrue(self.q != [0] * 4)
        self.assertFalse(self.q == "text")
        self.assertFalse(self.q == [1])

    def test_memory_view(self):
        view = memoryview(self.poses)
        self.assertEqual((view.format, view.shape, view.ndim, view.readonly), ("d", (4, 7), 2, False))
        self.assertEqual(view[2, 3], self.poses[2, 3])
        self.assertEqual(bytes(self.q[::2]), array.array("d", self.q.tolist()[::2]).tobytes())
        strided = memoryview(self.poses[:, 2])
        self.assertEqual((strided.strides, strided.tolist()), ((56,), self.poses[:, 2].tolist()))

    def test_a_view_keeps_the_memory(self):
        sim = calder.Simulation(self.model)
        part = sim.q[1:3]
        expected = part.tolist()
        sim.close()
        del sim
        self.assertEqual(part.tolist(), expected)
        with self.assertRaises(ValueError):
            part[0] = 1

    def test_what_comes_in(self):
        values = [0.1, 0.2, 0.3, 0.4]
        zeros = [0] * 4
        expected = calder.forward(self.model, values, zeros)
        spaced = memoryview(array.array("d", [x for v in values for x in (v, 9)]))[::2]
        for q in (tuple(values), array.array("d", values), memoryview(array.array("d", values)), spaced):
            self.assertEqual(calder.forward(self.model, q, zeros), expected)
        singles = array.array("f", [0.5, 0.25, 0, 1])
        self.assertEqual(
            calder.forward(self.model, singles, zeros), calder.forward(self.model, singles.tolist(), zeros)
        )
        for q in (b"abcd", bytearray(32), "abcd", {1: 2}, 3, None, [[1]] * 4, [1j] * 4):
            with self.assertRaises(TypeError):
                calder.forward(self.model, q, zeros)
        for q in ([1, 2], array.array("d", [1] * 5), [float("nan")] * 4, memoryview(self.poses)):
            with self.assertRaises(ValueError):
                calder.forward(self.model, q, zeros)


@unittest.skipUnless(numpy, "NumPy is not installed")
class NumPy(unittest.TestCase):
    def test_no_copy(self):
        sim = calder.Simulation(calder.generate("chain:n=4"))
        q = numpy.asarray(sim.q)
        sim.advance(0.1)
        self.assertEqual(q.tolist(), sim.q.tolist())
        q += 0.25
        other = calder.Simulation(sim.model)
        other.set(q=q.tolist(), v=sim.v, time=0.1)
        self.assertEqual(sim.hash, other.hash)

    def test_in_and_out(self):
        model = calder.generate("chain:n=4")
        q = numpy.linspace(0, 1, 8)[::2]
        self.assertEqual(calder.forward(model, q, numpy.zeros(4)), calder.forward(model, q.tolist(), [0] * 4))
        M = numpy.asarray(calder.mass_matrix(model, q))
        self.assertTrue((M == M.T).all() and (numpy.linalg.eigvalsh(M) > 0).all())
        ensemble = calder.Ensemble(model, 3)
        ensemble.q = numpy.ones((3, 4))
        self.assertTrue((numpy.asarray(ensemble.q) == 1).all())
        self.assertFalse(numpy.asarray(ensemble.q).flags.writeable)


if __name__ == "__main__":
    unittest.main()
