"""Ensembles in the memory of a GPU, lent to others by DLPack. Here the host plays the GPU (a build with CALDER_CUDA=emulate, and the
module that is tested under sanitizers), so that what is written there can be seen."""

import ctypes
import gc
import os
import unittest

import calder
from dlpack import address_of, tensor_of


class Borrowed:
    """The numbers of a DeviceArray as a library has them that takes DLPack."""

    def __init__(self, lent):
        capsule = lent.__dlpack__()
        self.address, self.tensor = address_of(capsule), tensor_of(capsule)
        rename = ctypes.pythonapi.PyCapsule_SetName
        rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
        self.name = b"used_dltensor"
        rename(capsule, self.name)
        self.shape = tuple(self.tensor.shape[: self.tensor.ndim])
        self.numbers = (ctypes.c_double * (self.shape[0] * self.shape[1] * self.shape[2])).from_address(self.tensor.data)
        self.rows = lent.rows

    def place(self, instance, number):
        group, lane = divmod(instance, 32)
        return (group * self.shape[1] + self.rows[number]) * 32 + lane

    def give_back(self):
        self.tensor.deleter(self.address)


def has_emulated_device():
    try:
        return calder.Ensemble(calder.generate("pendulum"), 1, machine="cuda").device("q").__dlpack_device__() == (1, 0)
    except calder.Error:
        return False


class Absent(unittest.TestCase):
    def test_an_ensemble_of_the_processor_has_no_device(self):
        ensemble = calder.Ensemble(calder.generate("pendulum"), 2)
        for use in (lambda: ensemble.device("q"), ensemble.device_changed, ensemble.device_forward):
            with self.assertRaises(calder.Error) as caught:
                use()
            self.assertEqual(caught.exception.status, "not_available")


@unittest.skipUnless(has_emulated_device(), "there is no GPU that the host plays")
class Device(unittest.TestCase):
    model = calder.generate("chain:n=5,joint=ball")
    COUNT, SOME = 40, 37  # in the second group of 32

    def make(self, **options):
        return calder.Ensemble(self.model, self.COUNT, contact=False, step=1 / 128, **options)

    def test_the_bits_of_the_processor(self):
        here, there = self.make(), self.make(machine="cuda")
        self.assertEqual(there.lanes, 32)
        for ensemble in (here, there):
            ensemble.set(v=[0.1] * self.model.nv, instance=self.SOME)
            ensemble.advance(0.25)
        self.assertEqual(here.hash, there.hash)

    def test_no_copy(self):
        ensemble = self.make(machine="cuda")
        q = Borrowed(ensemble.device("q"))
        self.assertEqual((q.shape[0], q.shape[2], len(q.rows)), (2, 32, self.model.nq))
        ensemble.step(3, 1 / 128)
        for i, expected in enumerate(ensemble.q[self.SOME]):
            self.assertEqual(q.numbers[q.place(self.SOME, i)], expected)
        self.assertEqual(Borrowed(ensemble.device("q")).tensor.data, q.tensor.data)

    def test_what_is_set_here_is_there(self):
        ensemble = self.make(machine="cuda")
        ensemble.set(v=[0.25] * self.model.nv, instance=self.SOME)
        v = Borrowed(ensemble.device("v"))
        self.assertEqual([v.numbers[v.place(self.SOME, i)] for i in range(self.model.nv)], [0.25] * self.model.nv)
        self.assertEqual(v.numbers[v.place(0, 0)], 0.0)

    def test_what_is_written_there_counts(self):
        here, there = self.make(), self.make(machine="cuda")
        speeds = [0.1 * i for i in range(self.model.nv)]
        v = Borrowed(there.device("v"))
        for i, speed in enumerate(speeds):
            v.numbers[v.place(self.SOME, i)] = speed
        there.device_changed()
        self.assertEqual(there.v[self.SOME], speeds)
        there.device_forward()
        qdd = Borrowed(there.device("qdd"))
        expected = calder.forward(self.model, here.q[self.SOME], speeds)
        self.assertEqual([qdd.numbers[qdd.place(self.SOME, i)] for i in range(self.model.nv)], expected.tolist())
        here.set(v=speeds, instance=self.SOME)
        here.advance(0.125)
        there.advance(0.125)
        self.assertEqual(here.hash, there.hash)

    def test_lends_instances_with_loops(self):
        ensemble = calder.Ensemble(calder.generate("fivebar"), 40, spread=0.01, machine="cuda")
        self.assertEqual(ensemble.device("tau").shape[2], 32)
        ensemble.device_changed()
        ensemble.advance(0.01)
        self.assertFalse(ensemble.failed)
        with self.assertRaisesRegex(calder.Error, "models without constraints"):
            ensemble.device_forward()

    def test_memory_that_is_lent_outlives_its_owner(self):
        ensemble = self.make(machine="cuda")
        v = Borrowed(ensemble.device("v"))
        first = v.numbers[0]
        array = ensemble.device("q")
        ensemble.close()
        for use in (lambda: ensemble.device("q"), lambda: array.__dlpack__(), ensemble.device_forward, lambda: ensemble.q):
            with self.assertRaises(ValueError):
                use()
        del ensemble, array
        gc.collect()
        v.numbers[0] = first + 1  # a sanitizer would complain
        v.give_back()

    def test_misuse(self):
        ensemble = self.make(machine="cuda")
        with self.assertRaises(ValueError):
            ensemble.device("mass")
        for arguments in ({"stream": 1}, {"copy": True}, {"dl_device": (2, 0)}):
            with self.assertRaises(BufferError):
                ensemble.device("q").__dlpack__(**arguments)
        with self.assertRaises(calder.Error):
            calder.Ensemble(self.model, 2, machine="cuda:1000")
        with self.assertRaises(calder.Error):
            calder.Ensemble(self.model, 2, machine="cuda", lanes=4)
        with self.assertRaises(TypeError):
            calder.DeviceArray()

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork")
    def test_fork(self):
        ensemble = self.make(machine="cuda")
        child = os.fork()
        if child == 0:
            try:
                ensemble.device("q")
            except RuntimeError as error:
                os._exit(0 if "os.fork" in str(error) else 2)
            os._exit(1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


if __name__ == "__main__":
    unittest.main()
