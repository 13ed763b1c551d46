"""Bad use raises and never crashes; nothing leaks."""

import array
import copy
import ctypes
import gc
import math
import os
import pickle
import random
import subprocess
import sys
import tempfile
import threading
import unittest

import calder


class MallocInfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)


def bytes_in_use():
    """Of malloc, and of Python's own blocks, at least 16 bytes each: pages of the process come and go as the system likes."""
    mallinfo.restype = MallocInfo
    info = mallinfo()
    return info.uordblks + info.hblkhd + 16 * sys.getallocatedblocks()


class Misuse(unittest.TestCase):
    def test_constructors(self):
        model = calder.generate("pendulum")
        for arguments, keywords, error in (
            ((), {}, TypeError),
            ((3,), {}, TypeError),
            ((model,), {"solver": "magic"}, calder.Error),
            ((model,), {"solver": 3}, TypeError),
            ((model,), {"algorithm": "magic"}, calder.Error),
            ((model,), {"machine": "quantum"}, calder.Error),
            ((model,), {"machine": "threads:0"}, calder.Error),
            ((model,), {"lanes": 3}, calder.Error),
            ((model,), {"tol": -1}, calder.Error),
            ((model,), {"tol": float("nan")}, ValueError),
            ((model,), {"tol": "small"}, TypeError),
            ((model,), {"stabilize": "hope"}, calder.Error),
            ((model,), {"step": -1, "solver": "rk4"}, calder.Error),
            ((model,), {"step": 0.1, "largest_step": 0.1}, ValueError),
            ((model,), {"colour": "red"}, TypeError),
            ((model, "gear"), {}, TypeError),
        ):
            with self.subTest(keywords=keywords), self.assertRaises(error):
                calder.Simulation(*arguments, **keywords)
        for kind in (calder.Model, calder.Array, calder.Snapshot, calder.Recorder):
            with self.assertRaises(TypeError):
                kind()

    def test_arguments(self):
        model = calder.generate("pendulum")
        for call in (
            lambda: calder.forward(),
            lambda: calder.forward(model, [0]),
            lambda: calder.forward(model, [0], [0], [0], [], 1),
            lambda: calder.forward(model, [0], [0], tau=[0], torque=[0]),
            lambda: calder.forward(model, [0], [0], q=[0]),
            lambda: calder.forward("model", [0], [0]),
            lambda: calder.generate(3),
            lambda: calder.load(3),
            lambda: calder.loads(3),
            lambda: calder.jacobian(model, [0], 0.5),
        ):
            with self.assertRaises(TypeError):
                call()
        with self.assertRaises(IndexError):
            calder.jacobian(model, [0], 1)
        with self.assertRaises(IndexError):
            calder.jacobian(model, [0], 2**70)
        with self.assertRaises(ValueError):
            calder.generate("pendu\0lum")

    def test_closed(self):
        sim = calder.Simulation(calder.generate("pendulum"))
        q = sim.q
        kept = sim.snapshot()
        sim.close()
        sim.close()
        self.assertTrue(sim.closed)
        for use in (
            lambda: sim.q,
            lambda: sim.time,
            lambda: sim.hash,
            lambda: sim.energy,
            lambda: sim.contacts,
            lambda: sim.report,
            lambda: sim.advance(1),
            lambda: sim.set(q=[0]),
            lambda: sim.push(0),
            lambda: sim.fork(),
            lambda: sim.snapshot(),
            lambda: sim.restore(kept),
            lambda: sim.record("never.csv"),
            lambda: sim.view(),
            lambda: q.__setitem__(0, 1),
        ):
            with self.assertRaises(ValueError):
                use()
        self.assertEqual(len(q.tolist()), 1)
        self.assertIn("closed", repr(sim))

    def test_times(self):
        sim = calder.Simulation(calder.generate("pendulum"))
        sim.advance(1)
        for bad in (float("nan"), float("inf")):
            with self.assertRaises(ValueError):
                sim.advance(bad)
        with self.assertRaises(calder.Error):
            sim.advance(0.5)
        self.assertEqual(sim.time, 1)

    def test_no_body_or_constraint(self):
        sim = calder.Simulation(calder.generate("pendulum"))
        with self.assertRaises(IndexError):
            sim.push(7, (1, 0, 0))
        with self.assertRaises(KeyError):
            sim.push("nobody", (1, 0, 0))
        with self.assertRaises(IndexError):
            sim.disconnect(0)
        with self.assertRaises(ValueError):
            sim.push(0, (1, 0))

    def test_no_code_runs_after_a_mistake(self):
        sim = calder.Simulation(calder.generate("fivebar"))

        class Looks:
            def __bool__(self):
                return len(repr(self)) > 0

        with self.assertRaises(KeyError):
            sim.connect("hold", inelastic=Looks())

    def test_a_subclass_that_lies(self):
        class Liar(list):
            def __len__(self):
                return 4

        with self.assertRaises(IndexError):
            calder.forward(calder.generate("chain:n=4"), Liar([1, 2]), [0] * 4)

    def test_a_number_that_closes_the_simulation(self):
        sim = calder.Simulation(calder.generate("chain:n=2"))

        class Closer:
            def __float__(self):
                sim.close()
                return 1.0

        with self.assertRaises(ValueError):
            sim.q = [Closer(), 0]
        sim = calder.Simulation(calder.generate("chain:n=2"))
        with self.assertRaises(ValueError):
            sim.q[:] = [0, Closer()]


    def test_what_cannot_be_copied(self):
        sim = calder.Simulation(calder.generate("pendulum"))
        with tempfile.TemporaryDirectory() as folder, sim.record(os.path.join(folder, "a.csv")) as recorder:
            for thing in (sim, sim.q, recorder, calder.Ensemble(sim.model, 2)):
                with self.assertRaises(TypeError):
                    copy.copy(thing)
                with self.assertRaises(TypeError):
                    pickle.dumps(thing)
                with self.assertRaises(TypeError):
                    object.__new__(type(thing))
                with self.assertRaises(TypeError):
                    type("Derived", (type(thing),), {})

    def test_random_calls(self):
        """Everything that can be called, with anything: an exception or a result, and a simulation that goes on."""
        chance = random.Random(1)
        model = calder.generate("chain:n=3,joint=ball")
        values = [None, 0, 1, -1, 2**31, 2**70, 0.5, math.nan, math.inf, -1e308, "", "x", "0", b"x", [], [1], [1.0] * 9,
                  [0.0] * 12, [[1.0] * 3] * 3, (), {}, object(), model, calder, True, slice(None), int, "\ud800",
                  memoryview(b"12345678"), array.array("d", [1.0] * 9), array.array("d", [1.0] * 12)]  # fmt: skip
        skipped = {"view", "record", "write", "load", "close", "advance", "step", "_time_forward", "__class__"}
        for turn in range(4000):
            sim = calder.Simulation(model, solver="rk4") if turn % 100 == 0 else sim
            ensemble = calder.Ensemble(model, 2) if turn % 100 == 0 else ensemble
            target = chance.choice([calder, sim, ensemble, model, sim.q, calder.mass_matrix(model, sim.q)])
            name = chance.choice([name for name in dir(target) if name not in skipped and not name.startswith("__")])
            pool = values + [sim, ensemble, sim.q, sim.v[1:], sim.snapshot()]
            arguments = [chance.choice(pool) for _ in range(chance.randrange(6))]
            try:
                if chance.random() < 0.1:
                    words = chance.sample(["stream", "max_version", "dl_device", "copy"], chance.randrange(4))
                    sim.q.__dlpack__(**{word: chance.choice(pool + [(1, 0), (1, 2**40)]) for word in words})
                elif chance.random() < 0.1:
                    words = chance.sample(["compute", "message", "send", "algorithm", "distribution"], chance.randrange(2, 5))
                    calder.plan(model, chance.choice(pool), **{word: chance.choice(pool) for word in words})
                elif chance.random() < 0.1:
                    calder._calder._snapshot(*arguments)
                elif chance.random() < 0.2 and target is not calder:
                    setattr(target, name, chance.choice(pool))
                elif chance.random() < 0.2:
                    target[chance.choice(pool)] = chance.choice(pool)
                elif callable(getattr(target, name)):
                    getattr(target, name)(*arguments)
            except (TypeError, ValueError, AttributeError, LookupError, OverflowError, BufferError, calder.Error):
                pass
        sim = calder.Simulation(model)
        sim.advance(0.1)


class Threads(unittest.TestCase):
    def test_two_threads_on_one_simulation(self):
        sim = calder.Simulation(calder.generate("mobile:s=2,l=4,o=6"), tol=1e-9)
        failures = []

        def advance():
            try:
                sim.advance(0.5)
            except RuntimeError as error:
                failures.append(error)

        threads = [threading.Thread(target=advance) for _ in range(4)]
        for thread in threads:
            thread.start()
        seen = 0
        while any(thread.is_alive() for thread in threads):
            try:
                sim.q[0]
                len(repr(sim))
            except RuntimeError:
                seen += 1
        for thread in threads:
            thread.join()
        self.assertTrue(all("one thread" in str(failure) for failure in failures))
        self.assertEqual(sim.time, 0.5)

    def test_each_its_own(self):
        model = calder.generate("mobile:s=2,l=3,o=4")
        hashes = []

        def simulate():
            sim = calder.Simulation(model, machine="threads:2")
            sim.advance(0.3)
            hashes.append(sim.hash)
            for _ in range(50):
                calder.forward(model, sim.q, sim.v)

        threads = [threading.Thread(target=simulate) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(hashes), 4)
        self.assertEqual(len(set(hashes)), 1)

    def test_other_threads_run_while_it_advances(self):
        # Only a thread that runs meanwhile can see that the simulation is being advanced.
        sim = calder.Simulation(calder.generate("chain:n=30"), tol=1e-8)
        seen = threading.Event()

        def advance():
            target = 0.0
            while not seen.is_set():
                target += 1
                try:
                    sim.advance(target)
                except RuntimeError:
                    target -= 1

        thread = threading.Thread(target=advance)
        thread.start()
        while not seen.is_set():
            try:
                sim.hash
            except RuntimeError:
                seen.set()
        thread.join()

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork")
    def test_fork(self):
        sim = calder.Simulation(calder.generate("mobile:s=2,l=3,o=4"), machine="threads:2")
        sim.advance(0.1)
        child = os.fork()
        if child == 0:
            try:
                sim.advance(0.2)
            except RuntimeError as error:
                del sim
                os._exit(0 if "os.fork" in str(error) else 2)
            os._exit(1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        sim.advance(0.2)

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork")
    def test_a_recording_is_its_process_own(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.csv")
            sim = calder.Simulation(calder.generate("pendulum"))
            recorder = sim.record(path, fps=10)
            child = os.fork()
            if child == 0:
                sim.advance(0.5)
                recorder.close()
                os._exit(0)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
            sim.advance(0.2)
            recorder.close()
            with open(path) as file:
                self.assertEqual(len(file.readlines()), 4)  # a header and three frames

    def test_interrupted_ensembles(self):
        program = """if True:
            import calder, signal
            class Late(Exception): pass
            def ring(*unused): raise Late
            signal.signal(signal.SIGALRM, ring)
            for call in (lambda e: e.advance(1e7), lambda e: e.step(2**31 - 1, 1e-3)):
                ensemble = calder.Ensemble(calder.generate("chain:n=9"), 8, step=1e-3)
                while ensemble.time == 0:  # it may ring before the call has begun
                    try:
                        signal.setitimer(signal.ITIMER_REAL, 0.05)
                        call(ensemble)
                    except Late:
                        pass
                    else:
                        raise SystemExit(1)
                assert ensemble.time < 1e6
                ensemble.advance(ensemble.time + 0.01)
        """
        self.assertEqual(subprocess.run([sys.executable, "-c", program], timeout=600).returncode, 0)

    def test_interrupt(self):
        program = """if True:
            import calder, os, signal, sys, threading
            sim = calder.Simulation(calder.generate("mobile:s=2,l=3,o=4"), tol=1e-8)
            def interrupt():
                while True:
                    try:
                        sim.hash
                    except RuntimeError:  # it is being advanced
                        return os.kill(os.getpid(), signal.SIGINT)
            threading.Thread(target=interrupt).start()
            while True:  # the other thread may have been in between
                try:
                    sim.advance(1e6)
                except KeyboardInterrupt:
                    sim.advance(sim.time + 0.01)
                    sys.exit(7)
                except RuntimeError:
                    pass
        """
        self.assertEqual(subprocess.run([sys.executable, "-c", program], timeout=600).returncode, 7)


class Memory(unittest.TestCase):
    def check(self, make, times):
        for _ in range(times // 10):
            make()
        gc.collect()
        before = bytes_in_use()
        for _ in range(times):
            make()
        gc.collect()
        grown = bytes_in_use() - before
        # A leak of one object each would be hundreds of bytes per turn at least.
        self.assertLess(grown, 64 * times)

    @unittest.skipUnless(mallinfo, "this C library does not count what is in use")
    @unittest.skipIf("libasan" in os.environ.get("LD_PRELOAD", ""), "the sanitizer keeps what is freed")
    def test_nothing_leaks(self):
        model = calder.generate("chain:n=3")

        def simulation():
            sim = calder.Simulation(model)
            sim.q[0] += 0.1
            sim.fork().restore(sim.snapshot())
            sim.energy, sim.report, sim.contacts, sim.poses

        def mistakes():
            for q in ([1], [1, 2, float("nan")], [1, 2, "a"]):
                try:
                    calder.forward(model, q, [0, 0, 0])
                except (ValueError, TypeError):
                    pass
            try:
                calder.Simulation(model, solver="magic")
            except calder.Error:
                pass

        def models():
            made = calder.generate("pendulum")
            made.bodies, made.info, made.start, made.joint(0)
            calder.mass_matrix(made, [0])

        self.check(simulation, 10000)
        self.check(mistakes, 10000)
        self.check(models, 10000)
        self.check(lambda: calder.Ensemble(model, 2).q, 2000)


if __name__ == "__main__":
    unittest.main()
