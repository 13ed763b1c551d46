"""Calls everything public of the module, found by introspection, with right and wrong arguments: each call returns or raises.

    python3 python/tests/fuzz.py                          a few seconds
    python3 python/tests/fuzz.py --rounds 1000 --seed 7   as long as one likes
    CALDER_FUZZ_SECONDS=60 python3 python/tests/fuzz.py   rounds for a minute, from CALDER_FUZZ_SEED, else another each time

A crash, a sanitizer's complaint, SystemError (an error in the use of Python's C interface) and a call that does not end are defects.
One seed makes one sequence of calls. A round is a process of its own; it has objects of every kind, living, closed, lent to others,
and calls from one thread, from several, in children of os.fork, and with signals that arrive while the engine runs. What was called
last is printed when a round fails.
"""

import argparse
import array
import ctypes
import faulthandler
import gc
import inspect
import math
import mmap
import os
import pickle
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
import webbrowser

try:
    import numpy
except ImportError:
    numpy = None

SCENE = """<mujoco model="scene"><worldbody>
  <geom name="floor" type="plane" size="5 5 1"/>
  <body name="ball" pos="0 0 0.12"><freejoint/><geom type="sphere" size="0.1" mass="1"/><site name="top" pos="0 0 0.1"/></body>
  <body name="arm" pos="1 0 1"><joint name="shoulder" axis="0 1 0" damping="0.1"/><geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.04"/>
    <body name="hand" pos="0.4 0 0"><joint name="wrist" type="ball"/><geom type="box" size="0.1 0.05 0.05"/></body></body>
  </worldbody><actuator><motor name="lift" joint="shoulder"/></actuator>
  <equality><connect name="hold" body1="hand" body2="ball" anchor="0.1 0 0" active="false"/></equality>
  <keyframe><key name="home" qpos="0 0 0.5 1 0 0 0 0.3 1 0 0 0"/></keyframe></mujoco>"""
SPECIFICATIONS = ["pendulum", "chain:n=3,joint=ball", "mobile:s=2,l=2,o=2", "humanoid", "mobile:s=", "chain:n=-1", "\0"]
TEXTS = ["", "x", "0", "\ud800", "a\0b", "é" * 400, "gear", "rk4", "euler", "auto", "bdf", "aba", "threads:2", "threads:0", "cuda", "%s%n"]
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
RECORD = 1024  # bytes per thread of what is called now
HANDS = 4  # threads at most
ALLOWED_SECONDS = 0.25  # of one call, then a signal interrupts it


class Interrupted(BaseException):
    pass


class Unexpected(BaseException):
    pass


class Trap:
    """Whatever it is asked for, it does something else first: closes what is in use, raises, or answers with nonsense."""

    def __init__(self, round):
        self.act = round.random.choice([round.close_something, round.drop_something, gc.collect, lambda: 1 / 0, lambda: None])
        self.answer = round.random.choice([0, 1, -1, 3, 0.5, math.nan, 2**70, "x", None])

    def respond(self, *unused):
        self.act()
        return self.answer

    __float__ = __index__ = __len__ = __getitem__ = __bool__ = __fspath__ = __iter__ = __eq__ = __str__ = respond
    __hash__ = None


class Doubles(ctypes.BigEndianStructure if sys.byteorder == "little" else ctypes.LittleEndianStructure):
    _fields_ = [("x", ctypes.c_double)]


class Round:
    """One process' objects and choices."""

    def __init__(self, seed, calder, log):
        self.random, self.calder, self.log = random.Random(seed), calder, log
        self.models = [calder.loads(SCENE)] + [calder.generate(text) for text in SPECIFICATIONS[:4]]
        self.models.append(self.models[0].variant(disable="contact", key="home"))
        self.things, self.main, self.bound = [], True, 1e300
        self.refill()

    # --- Objects ---------------------------------------------------------------------------------------------------

    def attempt(self, make):
        """What is made, where that is possible."""
        try:
            self.things.append(make())
        except (Interrupted, Unexpected):
            raise
        except BaseException as error:
            self.judge(error)

    def refill(self):
        self.things = list(self.models[:2])
        model, choose = self.random.choice(self.models), self.random.choice
        self.attempt(lambda: self.calder.Ensemble(choose(self.models), 3, contact=False, machine="cuda"))
        for machine in ("serial", "serial", "threads:2"):
            options = {"solver": choose(["auto", "gear", "rk4", "euler"]), "contact": choose([True, False]), "machine": machine}
            self.attempt(lambda: self.calder.Simulation(model, **options))
            self.attempt(lambda: self.calder.Ensemble(model, choose([1, 2, 5]), **options))
        for thing in list(self.things):
            for make in (
                lambda: thing.q,
                lambda: thing.control,
                lambda: thing.v[1:],
                lambda: thing.fork(),
                lambda: thing.snapshot(),
                lambda: memoryview(thing.q),
                lambda: thing.q.__dlpack__(),
                lambda: thing.device("q"),
                lambda: thing.device("v").__dlpack__(),
                lambda: thing.record(f"record{choose('abc')}.{choose(['csv', 'glb', 'html'])}"),
                lambda: thing.poses,
                lambda: thing.contacts,
            ):
                if self.random.random() < 0.4:
                    self.attempt(make)
        dead = self.calder.Simulation(model)
        self.things += [dead.q, dead, self.calder.env.make("cartpole")]
        dead.close()

    def close_something(self):
        thing = self.random.choice(self.things)
        if hasattr(thing, "close"):
            thing.close()
        if isinstance(thing, memoryview):
            thing.release()

    def drop_something(self):
        if len(self.things) > 1:
            del self.things[self.random.randrange(len(self.things))]

    # --- Arguments -------------------------------------------------------------------------------------------------

    def numbers(self, count):
        """So many numbers, in one of many forms, some of which nobody can take."""
        values = [self.random.uniform(-1, 1) for _ in range(max(count, 0))]
        if self.random.random() < 0.1 and values:
            values[self.random.randrange(count)] = self.random.choice([math.nan, math.inf, 1e308, -0.0, 5e-324])
        packed = array.array("d", values)
        wide = array.array("d", [x for v in values for x in (v, 9)])
        forms = [
            lambda: values,
            lambda: tuple(values),
            lambda: packed,
            lambda: memoryview(packed),
            lambda: memoryview(packed).toreadonly(),
            lambda: memoryview(wide)[::2],
            lambda: memoryview(wide)[::-2],
            lambda: memoryview(bytes(packed)).cast("d"),
            lambda: array.array("f", values),
            lambda: array.array("q", [int(8 * v) for v in map(math.tanh, values)]),
            lambda: memoryview(packed).cast("B"),
            lambda: memoryview(packed).cast("B").cast("d", (1, count)),
            lambda: (ctypes.c_double * count)(*values),
            lambda: (Doubles * count)(),
            lambda: [[v] for v in values],
            lambda: [*values[1:], Trap(self)],
            lambda: self.random.choice(self.things),
        ]
        if numpy:
            forms += [
                lambda: numpy.array(values),
                lambda: numpy.array(values, dtype=self.random.choice(["f4", "i2", "O", ">f8", "c16", "?"])),
                lambda: numpy.frombuffer(b"x" + bytes(packed), dtype="f8", offset=1),
                lambda: numpy.broadcast_to(numpy.array(0.5), (count,)),
                lambda: numpy.array(values)[::-1],
                lambda: numpy.array(0.5),
            ]
        form = forms[0] if self.random.random() < 0.7 else self.random.choice(forms)
        try:
            return form()
        except (TypeError, ValueError, OverflowError, AttributeError):
            return values

    def rows(self, count, width):
        if self.random.random() < 0.3:
            return self.numbers(width)
        if self.random.random() < 0.5 and count * width > 0:
            flat = array.array("d", [self.random.uniform(-1, 1) for _ in range(count * width)])
            return memoryview(flat).cast("B").cast("d", (count, width))
        return [self.numbers(width) for _ in range(count)]

    def junk(self):
        choose = self.random.choice
        return choose(
            [
                lambda: choose([None, True, 0, 1, -1, 7, 2**31 - 1, 2**31, -(2**63), 2**70]),
                lambda: choose([0.5, -1e308, 1e308, math.nan, math.inf, 5e-324, 1j]),
                lambda: choose(TEXTS + SPECIFICATIONS),
                lambda: choose([b"", b"x", bytearray(32), b"\xff\xfe", memoryview(b"12345678")]),
                lambda: choose([(), [], {}, [1], [[1.0] * 3] * 3, (1, 0), (1, 2**40), object(), int, slice(None), slice(0, 9, 2**62), ...]),
                lambda: self.numbers(choose([0, 1, 3, 9, 12, 40])),
                lambda: Trap(self),
                lambda: choose(self.things),
            ]
        )()

    def fitting(self, name, target):
        """An argument of that name that may well be right."""
        choose = self.random.choice
        model = getattr(target, "model", None) or (target if isinstance(target, self.calder.Model) else self.current)
        widths = {"q": model.nq, "v": model.nv, "tau": model.nv, "qdd": model.nv, "control": model.nu, "action": 1, "actions": 1}
        if name in widths and isinstance(target, self.calder.Ensemble):
            return self.rows(len(target), widths[name])
        if name in widths:
            return self.numbers(widths[name])
        names = list(model.bodies) + list(model.joints) + ["hold", "top", "home"]
        known = {
            "model": lambda: model,
            "body": lambda: choose([0, 1, choose(names)]),
            "which": lambda: choose([0, 1, choose(names)]),
            "constraint": lambda: choose([0, "hold"]),
            "site": lambda: choose([0, "top"]),
            "key": lambda: choose([0, "home", self.slice(), (self.slice(), 0)]),
            "value": lambda: choose([0.1, self.numbers(model.nq)]),
            "disable": lambda: choose(["contact", ["gravity", "contact"], "x"]),
            "point": lambda: self.numbers(3),
            "force": lambda: self.numbers(3),
            "torque": lambda: self.numbers(3),
            "time": lambda: self.soon(target),
            "path": lambda: choose(["a.csv", "b.html", "c.glb", "m.xml", "d", "/dev/full", "no/where.csv"]),
            "columns": lambda: choose(["q,v", "energy", "x"]),
            "fps": lambda: choose([1, 60, 1000]),
            "snapshot": lambda: self.calder.Simulation(model).snapshot(),
            "text": lambda: choose([SCENE, SCENE[: self.random.randrange(len(SCENE))]]),
            "specification": lambda: choose(SPECIFICATIONS),
            "solver": lambda: choose(self.calder.solvers() + ["auto"]),
            "algorithm": lambda: choose(self.calder.algorithms()),
            "machine": lambda: choose(["serial", "threads:2", "cuda", "modelled"]),
            "lanes": lambda: choose([0, 1, 2, 4, 8, 3]),
            "n": lambda: choose([1, 2, 9]),
            "steps": lambda: choose([0, 1, 5]),
            "step": lambda: choose([1e-3, 1e-2]),
            "tol": lambda: choose([1e-3, 1e-6]),
            "absolute": lambda: 1e-6,
            "largest_step": lambda: 0.01,
            "schedule": lambda: choose(["2", "x"]),
            "stabilize": lambda: choose(["projection", "baumgarte", "none"]),
            "gain": lambda: 10,
            "constraint_form": lambda: choose(["lagrange", "khatib"]),
            "contact": lambda: choose([True, False]),
            "constraints": lambda: choose([True, False]),
            "spread": lambda: 0.1,
            "title": lambda: "a title",
            "name": lambda: choose(["q", "v", "tau", "qdd", "x"]),
            "distribution": lambda: choose(["balanced", "jung"]),
            "send": lambda: 1e-7,
            "options": lambda: None,
            "instance": lambda: choose([0, 1]),
            "processors": lambda: choose([2, [1, 2, 4]]),
            "compute": lambda: 1e-7,
            "message": lambda: 1e-6,
            "stream": lambda: choose([None, -1, 1]),
            "max_version": lambda: choose([(0, 8), (1, 0)]),
            "dl_device": lambda: choose([(1, 0), (2, 0)]),
            "seconds": lambda: 0.01,
            "open": lambda: False,
            "port": lambda: 0,
            "seed": lambda: choose([0, 1, 2**64 - 1]),
            "task": lambda: "cartpole",
            "num_envs": lambda: 2,
            "low": lambda: [-1, 0],
            "high": lambda: [1, 0],
        }
        return known[name]() if name in known else self.junk()

    def slice(self):
        part = [None, 0, 1, -1, 3, 2**62, -(2**62)]
        return slice(self.random.choice(part), self.random.choice(part), self.random.choice([None, 1, 2, -1, 2**62, 0]))

    def soon(self, target):
        later = self.random.choice([0.0, 0.01, 0.05, -1.0, self.bound])
        try:
            return target.time + later
        except Exception:
            return later

    def arguments(self, function, target):
        """Positional and named ones, most of them fitting."""
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (ValueError, TypeError):
            parameters = []
        args, named = [], {}
        wild = self.random.choice([0, 0, 0.1, 0.5])
        for parameter in parameters:
            needed = parameter.default is parameter.empty
            if not needed and self.random.random() < 0.8:
                continue
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            value = self.junk() if self.random.random() < wild else self.fitting(parameter.name, target)
            if parameter.kind == parameter.KEYWORD_ONLY or (named and parameter.kind != parameter.POSITIONAL_ONLY) or not needed:
                named[parameter.name] = value
            else:
                args.append(value)
        if not parameters and self.random.random() < 0.3 or self.random.random() < 0.03:
            args += [self.junk() for _ in range(self.random.randrange(4))]
        if self.random.random() < 0.02:
            named[self.random.choice(["q", "colour", "é"])] = self.junk()
        return args, named

    # --- Calls -----------------------------------------------------------------------------------------------------

    ENDLESS = {"make_vec", "VectorEnv", "Box", "_time_forward"}  # Python's own lists, as long as one asks for
    SPECIAL = ["__getitem__", "__setitem__", "__len__", "__eq__", "__enter__", "__exit__", "__reduce__", "__iter__", "__repr__",
               "__dlpack__", "__dlpack_device__", "__delitem__", "__contains__", "__init__", "__class__"]  # fmt: skip

    def pick(self):
        kinds = {}
        for thing in self.things:
            if type(thing).__module__.startswith("calder"):
                kinds.setdefault(type(thing).__name__, []).append(thing)
        target = self.random.choice([self.random.choice(kinds[kind]) for kind in sorted(kinds)] + [self.calder] * 3 + [self.calder.env])
        if inspect.ismodule(target):
            names = [name for name in [*target.__all__, "_snapshot"] if hasattr(target, name)]
        elif self.random.random() < 0.2:
            names = [name for name in self.SPECIAL if hasattr(target, name)]
        else:
            names = [name for name in dir(target) if not name.startswith("_")]
        return target, self.random.choice([name for name in names if name not in self.ENDLESS] or ["__class__"])

    def note(self, hand, text):
        start = hand * RECORD
        self.log[start : start + RECORD] = text.encode("ascii", "replace")[:RECORD].ljust(RECORD)

    def judge(self, error):
        if isinstance(error, SystemError) or not isinstance(error, Exception):
            raise Unexpected(f"{type(error).__name__}: {error}") from error

    def one(self, number, hand=0):
        """One call, attribute or operator of one thing."""
        self.current = self.random.choice(self.models)
        target, name = self.pick()
        kind = self.random.random()
        try:
            attribute = getattr(target, name)
            if kind < 0.1 and not inspect.ismodule(target):
                value = self.fitting(name, target) if self.random.random() < 0.7 else self.junk()
                action = lambda: setattr(target, name, value)
                what = f"{type(target).__name__}.{name} = {type(value).__name__}"
            elif kind < 0.12 and not inspect.ismodule(target):
                action = lambda: delattr(target, name)
                what = f"del {type(target).__name__}.{name}"
            elif callable(attribute):
                args, named = self.arguments(attribute, target)
                if name == "view":
                    named["open"] = False
                    named.setdefault("seconds", 0.01)
                action = lambda: attribute(*args, **named)
                shown = [type(a).__name__ if not isinstance(a, (int, float, str)) else ascii(a)[:60] for a in args]
                shown += [f"{k}={type(v).__name__ if not isinstance(v, (int, float, str)) else ascii(v)[:60]}" for k, v in named.items()]
                what = f"{getattr(target, '__name__', type(target).__name__)}.{name}({', '.join(shown)})"
            else:
                action = lambda: (repr(attribute), attribute)[1]
                what = f"{type(target).__name__}.{name}"
            self.note(hand, f"call {number}: {what}")
            if self.main:
                signal.setitimer(signal.ITIMER_REAL, ALLOWED_SECONDS)
            result = action()
            if self.main:
                signal.setitimer(signal.ITIMER_REAL, 0)
            if self.random.random() < 0.3 and not isinstance(result, (int, float, str, type(None))):
                self.things.append(result)
        except (Interrupted, Unexpected) as error:
            if isinstance(error, Unexpected):
                raise
        except BaseException as error:
            self.judge(error)
        finally:
            if self.main:
                signal.setitimer(signal.ITIMER_REAL, 0)

    def damage(self):
        """A snapshot that travelled badly."""
        model = self.random.choice(self.models)
        sim = self.calder.Simulation(model)
        sim.advance(0.02)
        made, (state, settings) = sim.snapshot().__reduce__()
        state = bytearray(state)
        for _ in range(self.random.randrange(1, 4)):
            state[self.random.randrange(len(state))] ^= 1 << self.random.randrange(8)
        cut = self.random.choice([len(state), self.random.randrange(len(state))])
        try:
            sim.restore(made(bytes(state[:cut]), settings[: self.random.choice([8, 1000])]))
            sim.advance(sim.time + 0.01)
        except Exception as error:
            self.judge(error)

    def travel(self):
        """Pickled and back."""
        try:
            self.things.append(pickle.loads(pickle.dumps(self.random.choice(self.things))))
        except Exception as error:
            self.judge(error)

    def calls(self, count, hand=0):
        for number in range(count):
            if number % 60 == 59 and self.main:
                self.refill()
            if not self.things:
                self.things.append(self.random.choice(self.models))
            chance = self.random.random()
            if chance < 0.02:
                self.note(hand, f"call {number}: a snapshot with wrong bits")
                self.damage()
            elif chance < 0.04:
                self.note(hand, f"call {number}: pickle")
                self.travel()
            elif chance < 0.06:
                try:
                    self.close_something()
                except Exception as error:
                    self.judge(error)
            else:
                try:
                    self.one(number, hand)
                except Interrupted:  # when the call was over already
                    pass

    # --- Kinds of rounds ---------------------------------------------------------------------------------------------

    def share(self, count):
        """Several threads on the same objects."""
        problems, rounds = [], []
        self.bound = 0.5  # no signal reaches them
        for hand in range(1, HANDS):
            other = object.__new__(Round)
            other.__dict__ = {**self.__dict__, "random": random.Random(self.random.random()), "main": False}
            other.refill = lambda: None
            other.ENDLESS = self.ENDLESS | {"advance", "step", "view"}
            rounds.append(other)
        self.main = False

        def work(other, hand):
            try:
                other.calls(count // HANDS, hand)
            except BaseException as error:
                problems.append(error)

        def advance(stop):
            while not stop.is_set():
                for thing in list(self.things):
                    try:
                        if isinstance(thing, (self.calder.Simulation, self.calder.Ensemble)):
                            thing.advance(thing.time + 0.02)
                    except Exception as error:
                        if isinstance(error, SystemError):
                            problems.append(error)

        stop = threading.Event()
        threads = [threading.Thread(target=work, args=(other, hand)) for hand, other in enumerate(rounds, 1)]
        mover = threading.Thread(target=advance, args=(stop,))
        for thread in [*threads, mover]:
            thread.start()
        if not SANITIZED:  # also while others are at work; a sanitizer's allocator may be locked by one of them then, for ever
            self.fork(10)
        for thread in threads:
            thread.join()
        stop.set()
        mover.join()
        self.main, self.bound = True, 1e300
        if problems:
            raise problems[0]

    def fork(self, count):
        """A child uses what it has got from its parent."""
        if SANITIZED:
            wait_for_sleep()
        child = os.fork()
        if child == 0:
            status = 1
            faulthandler.dump_traceback_later(60, exit=True)
            try:
                self.main = True
                signal.signal(signal.SIGALRM, interrupt)
                self.calls(count)
                self.things.clear()
                gc.collect()
                status = 0
            except BaseException as error:
                print(f"in a child: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(status)
        _, status = os.waitpid(child, 0)
        status = os.waitstatus_to_exitcode(status)
        if status != 0:
            raise Unexpected(f"a child of os.fork() ended with {status}")

    def interruptions(self, count):
        """Signals, soon after a long advance has begun."""
        for _ in range(count):
            model = self.random.choice(self.models)
            ensemble = self.random.random() < 0.5
            thing = self.calder.Ensemble(model, 4, solver="rk4") if ensemble else self.calder.Simulation(model, machine="threads:2")
            try:
                signal.setitimer(signal.ITIMER_REAL, self.random.uniform(1e-5, 0.03))
                self.random.choice([lambda: thing.advance(1e9), lambda: thing.step(2**31 - 1, 1e-3)])()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except (Interrupted, AttributeError, self.calder.Error):
                pass
            try:
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupted:  # at the last moment
                pass
            thing.hash, thing.time
            thing.close()

    def run(self, number, count):
        sys.setswitchinterval(1e-5)
        self.calls(count)
        self.refill()
        kinds = [self.share, self.fork, lambda n: self.interruptions(max(n // 40, 2))]
        kinds[number % len(kinds)](count)
        self.things.clear()
        gc.collect()


def interrupt(*unused):
    raise Interrupted


def wait_for_sleep():
    """Until all other threads sleep. gcc 12's sanitizer does not know of forks: a child gets the locks of its allocator as they are, and waits
    for ever for one that another thread had. A thread that was made just now begins by allocating; one that sleeps has no such lock."""
    own = threading.get_native_id()

    def is_awake(thread):
        try:
            with open(f"/proc/self/task/{thread}/stat") as file:
                return file.read().rpartition(")")[2].split()[0] != "S"
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            return False

    while any(is_awake(thread) for thread in map(int, os.listdir("/proc/self/task")) if thread != own):
        time.sleep(1e-4)


def run_round(options, number):
    """In a process of its own, in an empty folder."""
    signal.signal(signal.SIGALRM, interrupt)
    warnings.simplefilter("ignore")
    webbrowser.open = lambda *unused: True
    unraisable = []  # what nobody could be told, as where an object ends: files that cannot be written, but no misuse of Python
    sys.unraisablehook = lambda about: unraisable.append(repr(about.exc_value))
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))  # a sanitizer has a limit of its own
    with open(options.log, "r+b") as file:
        log = mmap.mmap(file.fileno(), RECORD * HANDS)
    import calder
    import calder.env

    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    Round(f"{options.seed}/{number}", calder, log).run(number, options.calls)
    if any(text.startswith("SystemError") for text in unraisable):
        raise Unexpected(f"where nobody could be told: {unraisable}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3, help="processes, one after the other")
    parser.add_argument("--first", type=int, default=0, help="number of the first round: 0 alone repeats what failed there")
    parser.add_argument("--calls", type=int, default=240, help="of a round")
    parser.add_argument("--round", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--log", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.round is not None:
        return run_round(options, options.round)
    end = None
    if "CALDER_FUZZ_SECONDS" in os.environ:
        end = time.monotonic() + float(os.environ["CALDER_FUZZ_SECONDS"])
        options.seed, options.rounds = int(os.environ.get("CALDER_FUZZ_SEED", time.time_ns() % 10**9)), 0
    number = options.first
    while time.monotonic() < end if end else number < options.first + options.rounds:
        with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as log:
            log.write(b" " * RECORD * HANDS)
            log.flush()
            command = [sys.executable, "-X", "faulthandler", os.path.abspath(__file__), "--round", str(number), "--log", log.name]
            command += ["--seed", str(options.seed), "--calls", str(options.calls)]
            try:
                status = subprocess.run(command, cwd=folder, timeout=600 + options.calls / 4).returncode
            except subprocess.TimeoutExpired:
                status = "a call that does not end"
            if status != 0:
                with open(log.name, "rb") as file:
                    lines = [file.read(RECORD).decode().strip() for _ in range(HANDS)]
                print(f"round {number} of seed {options.seed} failed: {status}", *filter(None, lines), sep="\n  ", file=sys.stderr)
                print(f"  again: fuzz.py --seed {options.seed} --first {number} --rounds 1 --calls {options.calls}", file=sys.stderr)
                return 1
        number += 1
    print(f"{number - options.first} rounds of {options.calls} calls from seed {options.seed}: everything returned or raised")
    return 0


if __name__ == "__main__":
    sys.exit(main())
