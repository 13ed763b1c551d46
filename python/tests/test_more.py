"""DLPack, pickled snapshots, plans, notebooks, ranks."""

import ctypes
import os
import pickle
import random
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import calder
from dlpack import tensor_of

try:
    import numpy
except ImportError:
    numpy = None


class DLPack(unittest.TestCase):
    def test_same_memory(self):
        sim = calder.Simulation(calder.generate("chain:n=5"))
        capsule = sim.q[::2].__dlpack__()
        t = tensor_of(capsule)
        self.assertEqual((t.device_type, t.device_id, t.ndim, t.code, t.bits, t.lanes), (1, 0, 1, 2, 64, 1))
        self.assertEqual((t.shape[0], t.strides[0], t.byte_offset), (3, 2, 0))
        numbers = ctypes.cast(t.data, ctypes.POINTER(ctypes.c_double))
        numbers[2] = 0.25  # the second entry of every other one
        self.assertEqual(sim.q[2], 0.25)
        del sim  # the capsule keeps the memory
        self.assertEqual(numbers[2], 0.25)
        self.assertEqual(calder.mass_matrix(calder.generate("pendulum"), [0]).__dlpack_device__(), (1, 0))

    def test_read_only_memory_says_so(self):
        rows = calder.Ensemble(calder.generate("pendulum"), 2).q
        with self.assertRaises(BufferError):
            rows.__dlpack__()
        capsule = rows.__dlpack__(max_version=(1, 0))
        flags = tensor_of(capsule, b"dltensor_versioned", 24)
        self.assertEqual(ctypes.c_uint64.from_address(ctypes.addressof(flags)).value, 1)
        self.assertIn("dltensor_versioned", repr(capsule))
        self.assertIn("dltensor", repr(rows.__dlpack__(copy=True)))
        for mistake in ({"stream": 1}, {"dl_device": (2, 0)}):
            with self.assertRaises(BufferError):
                rows.__dlpack__(**mistake)
        for mistake in ({"max_version": 1}, {"max_version": ("a", 1)}, {"colour": 1}):
            with self.assertRaises(TypeError):
                rows.__dlpack__(**mistake)

    @unittest.skipUnless(numpy and hasattr(numpy, "from_dlpack"), "NumPy is not here")
    def test_numpy(self):
        sim = calder.Simulation(calder.generate("chain:n=5"))
        shared = numpy.from_dlpack(sim.q)
        sim.q[3] = 0.5
        self.assertEqual(shared[3], 0.5)


class Snapshots(unittest.TestCase):
    def test_pickled_states_continue(self):
        for name in ("mobile:s=2,l=3,o=4", "humanoid"):
            model = calder.generate(name)
            sim = calder.Simulation(model)
            sim.tau[:] = 0.1
            sim.advance(0.05)
            kept = pickle.dumps((model, sim.snapshot()))
            sim.advance(0.1)
            model, snapshot = pickle.loads(kept)
            other = calder.Simulation(model)
            other.restore(snapshot)
            self.assertEqual(other.tau.tolist(), sim.tau.tolist())
            other.advance(0.1)
            self.assertEqual(other.hash, sim.hash)

    def test_damaged_bytes_are_refused(self):
        sim = calder.Simulation(calder.generate("pendulum"))
        make, (data, settings) = sim.snapshot().__reduce__()
        generator = random.Random(1)
        for _ in range(300):
            damaged = bytearray(data)
            kind = generator.randrange(3)
            if kind == 0:
                damaged[generator.randrange(len(damaged))] ^= 1 << generator.randrange(8)
            elif kind == 1:
                del damaged[generator.randrange(len(damaged)) :]
            else:
                damaged += bytes(generator.randrange(1, 40))
            with self.assertRaises(calder.Error):
                make(bytes(damaged), settings)
        with self.assertRaises(ValueError):
            make(data, b"123")
        # Forces of another model are left alone.
        sim.restore(make(data, bytes(800)))
        other = calder.Simulation(calder.generate("chain:n=3"))
        with self.assertRaises(calder.Error):
            other.restore(make(data, settings))


class Plans(unittest.TestCase):
    def test_a_described_machine(self):
        model = calder.generate("tree:height=4,fanout=3")
        plan = calder.plan(model, [1, 4], compute=1e-6, message=1e-6)
        one, four = plan["rows"]
        self.assertAlmostEqual(one["seconds"], len(model.joints) * 1e-6)
        self.assertEqual((one["used"], one["speedup"]), (1, 1.0))
        self.assertGreater(four["speedup"], 2)
        self.assertEqual(set(plan["processor_of_joint"]), set(range(four["used"])))
        chain = calder.plan(calder.generate("chain:n=64"), 8, compute=1e-6, message=0, algorithm="assembly")
        self.assertGreater(chain["rows"][0]["speedup"], 1)

    def test_mistakes(self):
        model = calder.generate("pendulum")
        for arguments, error in (
            ({"processors": 0}, ValueError),
            ({"processors": "many"}, TypeError),
            ({"processors": [1], "compute": 1.0}, ValueError),
            ({"processors": [1], "compute": -1.0, "message": 0.0}, calder.Error),
            ({"processors": [1], "compute": 1.0, "message": 1.0, "algorithm": "rnea"}, ValueError),
            ({"processors": [1], "compute": 1.0, "message": 1.0, "distribution": "fair"}, ValueError),
        ):
            with self.subTest(arguments=arguments), self.assertRaises(error):
                calder.plan(model, **arguments)


class Notebooks(unittest.TestCase):
    @unittest.skipUnless(calder.has_page, "this build has no page")
    def test_a_notebook_shows_a_frame(self):
        shown = []
        ipython = types.ModuleType("IPython")
        ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
        display = types.ModuleType("IPython.display")
        display.IFrame = lambda address, width, height: ("frame", address)
        display.display = shown.append
        with mock.patch.dict(sys.modules, {"IPython": ipython, "IPython.display": display}):
            sim = calder.Simulation(calder.generate("pendulum"))
            sim.view(seconds=0.05)
        self.assertEqual([kind for kind, _ in shown], ["frame"])
        self.assertTrue(shown[0][1].startswith("http://127.0.0.1:"))


class Ensembles(unittest.TestCase):
    def test_forces_are_shown(self):
        ensemble = calder.Ensemble(calder.generate("chain:n=3"), 2)
        self.assertEqual(ensemble.tau.tolist(), [[0] * 3] * 2)
        ensemble.tau = [1, 2, 3]
        ensemble.set(tau=[4, 5, 6], instance=1)
        self.assertEqual(ensemble.tau.tolist(), [[1, 2, 3], [4, 5, 6]])
        with self.assertRaises(ValueError):
            ensemble.tau = [[1, 2]]
        with self.assertRaises(AttributeError):
            del ensemble.control
        self.assertEqual(ensemble.control.shape, (2, 0))


class Ranks(unittest.TestCase):
    PROGRAM = """if True:
        import os, sys
        try:
            from mpi4py import MPI
        except ImportError:
            pass
        import calder
        model = calder.generate("tree:height=5,fanout=3")
        sim = calder.Simulation(model, solver="gear", machine="mpi")
        with sim.record(sys.argv[1]):
            sim.advance(0.05)
        ensemble = calder.Ensemble(model, 4, machine="mpi", step=1e-3, spread=0.01)
        ensemble.advance(0.01)
        try:
            calder.Simulation(model, machine="mpi", lanes=3)
            sys.exit("three lanes are believed")
        except calder.Error as error:
            assert "lanes must be" in str(error)
        with open(f"{sys.argv[1]}.{os.getpid()}", "w") as file:
            file.write(f"{sim.hash:016x} {ensemble.hash:016x} {sim.time}")
        """

    def expected(self):
        model = calder.generate("tree:height=5,fanout=3")
        sim = calder.Simulation(model, solver="gear")
        sim.advance(0.05)
        ensemble = calder.Ensemble(model, 4, step=1e-3, spread=0.01)
        ensemble.advance(0.01)
        return f"{sim.hash:016x} {ensemble.hash:016x} {sim.time}"

    @unittest.skipUnless(os.environ.get("CALDER_MPIRUN"), "MPI is not here")
    def test_ranks_have_the_same_bits(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.csv")
            run = subprocess.run(
                [os.environ["CALDER_MPIRUN"], "-n", "2", sys.executable, "-c", self.PROGRAM, path],
                capture_output=True,
                text=True,
                timeout=600,
            )
            self.assertEqual(run.returncode, 0, run.stderr)
            # A file per rank: the starter may mix lines that ranks print at one time.
            lines = [open(os.path.join(folder, name)).read() for name in os.listdir(folder) if name != "run.csv"]
            self.assertEqual(lines, [self.expected()] * 2)
            with open(path) as file:
                self.assertEqual(len(file.read().splitlines()), 5)

    # Somebody else ends MPI before, as mpi4py may.
    ENDED = """if True:
        import ctypes
        import calder
        import calder._mpi
        assert calder._mpi.rank() == 0
        assert ctypes.CDLL(calder._mpi.__file__).MPI_Finalize() == 0
        for ask in calder._mpi.rank, lambda: calder.Simulation(calder.generate("chain"), machine="mpi"):
            try:
                ask()
                raise SystemExit("ranks that are gone are believed")
            except RuntimeError as error:
                assert "finalized" in str(error), error
        """

    @unittest.skipUnless(os.environ.get("CALDER_MPIRUN"), "MPI is not here")
    def test_ranks_that_have_ended_are_an_error(self):
        run = subprocess.run([sys.executable, "-c", self.ENDED], capture_output=True, text=True, timeout=600)
        self.assertEqual(run.returncode, 0, run.stderr)


if __name__ == "__main__":
    unittest.main()
