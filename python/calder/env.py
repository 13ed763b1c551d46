"""Environments with Gymnasium's calling convention, which need neither Gymnasium nor NumPy.

    from calder.env import make, make_vec

    env = make("cartpole")
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

    envs = make_vec("stand", 16, machine="threads")     # side by side, over calder.Ensemble
    observations, infos = envs.reset(seed=1)            # instance i has seed 1 + i

A Task says what is simulated, seen, done and rewarded; Env and VectorEnv run it. Where NumPy is there, observations are its arrays; elsewhere
array.array. One seed has one result; until it is over, instance i of a vector has the bits of a single environment with its seed, where frames
and steps are binary fractions, so that times have no rounding.
"""

import array
import math
import operator
import os
import random
import tempfile
import xml.etree.ElementTree as ElementTree

import calder

try:
    import numpy
except ImportError:
    numpy = None

__all__ = ["Box", "CartPole", "Env", "Humanoid", "Stand", "Task", "VectorEnv", "make", "make_vec"]


def _vector(numbers):
    return numpy.array(numbers, dtype=float) if numpy else array.array("d", numbers)


def _rows(rows):
    return numpy.array(rows, dtype=float) if numpy else [array.array("d", row) for row in rows]


def _flags(flags):
    return numpy.array(flags, dtype=bool) if numpy else list(flags)


class Box:
    """Vectors between bounds, as gymnasium.spaces.Box: low, high, shape, sample(), contains(x)."""

    dtype = "float64"

    def __init__(self, low, high, rows=None):
        if len(low) != len(high) or any(not a <= b for a, b in zip(low, high)):
            raise ValueError("low and high must have one length, and low must not be above high")
        self._low, self._high, self._count = [float(x) for x in low], [float(x) for x in high], rows
        self.shape = (len(low),) if rows is None else (rows, len(low))
        self.low = self._spread(self._low)
        self.high = self._spread(self._high)
        self._random = random.Random(0)

    def _spread(self, row):
        return _vector(row) if self._count is None else _rows([row] * self._count)

    def seed(self, seed=None):
        self._random = random.Random(seed)
        return [seed]

    def _draw(self):
        # Where there is no bound, a normal distribution, or what is beyond the other bound, as Gymnasium does.
        out = []
        for low, high in zip(self._low, self._high):
            if math.isinf(low) and math.isinf(high):
                out.append(self._random.gauss(0, 1))
            elif math.isinf(low) or math.isinf(high):
                beyond = self._random.expovariate(1)
                out.append(low + beyond if math.isinf(high) else high - beyond)
            else:
                out.append(self._random.uniform(low, high))
        return out

    def sample(self):
        if self._count is None:
            return _vector(self._draw())
        return _rows([self._draw() for _ in range(self._count)])

    def contains(self, x):
        rows = [x] if self._count is None else x
        try:
            if self._count is not None and len(x) != self._count:
                return False
            return all(
                len(row) == len(self._low) and all(a <= v <= b for a, v, b in zip(self._low, row, self._high))
                for row in rows
            )
        except TypeError:
            return False

    def __contains__(self, x):
        return self.contains(x)

    def __eq__(self, other):
        return isinstance(other, Box) and (self._low, self._high, self.shape) == (other._low, other._high, other.shape)

    def __repr__(self):
        return f"Box({self._low}, {self._high}, {self.shape})"


class Task:
    """What an environment is about; subclasses have the attributes and methods below. q and v are lists, as the engine has them."""

    model: calder.Model
    frame = 1 / 64  # s between two steps
    limit = 500  # steps, after which an episode is truncated
    simulation: dict = {}  # keyword arguments of Simulation and Ensemble
    action_space: Box
    observation_space: Box

    def start(self, generator):
        """q and v at the beginning of an episode; generator is a random.Random."""
        raise NotImplementedError

    def observe(self, q, v):
        """What an agent sees."""
        return q + v

    def control(self, action):
        """Controls of the actuators."""
        return action

    def reward(self, q, v, action):
        return 1.0

    def failed(self, q, v):
        """Whether the episode ends here."""
        return False


def _check_action(space, action):
    """The action as a list within the space's bounds; what is not a vector of finite numbers raises."""
    values = [float(x) for x in action]
    if len(values) != len(space._low):
        raise ValueError(f"an action has {len(space._low)} numbers, not {len(values)}")
    if not all(map(math.isfinite, values)):
        raise ValueError("an action has finite numbers")
    return [min(max(x, low), high) for x, low, high in zip(values, space._low, space._high)]


class Env:
    """One environment. env.sim is its calder.Simulation: record it, or view it."""

    metadata = {"render_modes": []}
    render_mode = None
    spec = None

    def __init__(self, task, **simulation):
        self.task = task
        self.sim = calder.Simulation(task.model, **{**task.simulation, **simulation})
        self.action_space, self.observation_space = task.action_space, task.observation_space
        self._random = random.Random()
        self._ticks = None  # since reset

    @property
    def unwrapped(self):
        return self

    def _state(self):
        return self.sim.q.tolist(), self.sim.v.tolist()

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self._random = random.Random(operator.index(seed))
        q, v = self.task.start(self._random)
        self.sim.set(q, v, control=self.task.model.start[2], time=0.0)
        self._ticks = 0
        return _vector(self.task.observe(*self._state())), {}

    def step(self, action):
        if self._ticks is None:
            raise RuntimeError("reset() comes before step()")
        action = _check_action(self.action_space, action)
        self._ticks += 1
        self.sim.control = self.task.control(action)
        self.sim.advance(self._ticks * self.task.frame)
        q, v = self._state()
        terminated, truncated = self.task.failed(q, v), self._ticks >= self.task.limit
        reward = float(self.task.reward(q, v, action))
        return _vector(self.task.observe(q, v)), reward, bool(terminated), bool(truncated), {}

    def render(self):
        return None

    def close(self):
        self.sim.close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


class VectorEnv:
    """Environments side by side, over one calder.Ensemble.

    One whose episode is over is reset by the next step(), which ignores its action (Gymnasium's autoreset in the next step). One that the
    engine cannot go on with is over, too; infos["failed"] has the engine's line.
    """

    metadata = {"render_modes": [], "autoreset_mode": "NextStep"}
    render_mode = None
    spec = None

    def __init__(self, task, num_envs, **simulation):
        self.task, self.num_envs = task, operator.index(num_envs)
        self._simulation = {**task.simulation, **simulation}
        self.single_action_space, self.single_observation_space = task.action_space, task.observation_space
        self.action_space, self.observation_space = (
            Box(space._low, space._high, self.num_envs) for space in (task.action_space, task.observation_space)
        )
        self.ensemble = calder.Ensemble(task.model, self.num_envs, **self._simulation)
        self._randoms = [random.Random() for _ in range(self.num_envs)]
        self._ticks = None

    def _starts(self, numbers):
        return zip(*(self.task.start(self._randoms[i]) for i in numbers))

    def _observations(self, states):
        return _rows([self.task.observe(q, v) for q, v in states])

    def _states(self):
        return list(zip(self.ensemble.q.tolist(), self.ensemble.v.tolist()))

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            seeds = list(seed) if hasattr(seed, "__iter__") else [operator.index(seed) + i for i in range(self.num_envs)]
            if len(seeds) != self.num_envs:
                raise ValueError(f"{self.num_envs} environments need as many seeds, not {len(seeds)}")
            self._randoms = [random.Random(s) for s in seeds]
        # Anew, at time 0: then what follows depends on the seeds alone.
        self.ensemble.close()
        self.ensemble = calder.Ensemble(self.task.model, self.num_envs, **self._simulation)
        q, v = self._starts(range(self.num_envs))
        self.ensemble.set(list(q), list(v))
        self._ticks, self._ages, self._over = 0, [0] * self.num_envs, [False] * self.num_envs
        return self._observations(self._states()), {}

    def _restart(self):
        again = [i for i in range(self.num_envs) if self._over[i]]
        for i in again:
            q, v = self.task.start(self._randoms[i])
            self.ensemble.set(q, v, control=self.task.model.start[2], instance=i)
            self._ages[i] = -1  # this step shows the start
        return again

    def _drive(self, controls):
        # Only what is new: telling an instance something is an event of its own.
        for i, (new, old) in enumerate(zip(controls, self.ensemble.control.tolist())):
            if new != old:
                self.ensemble.set(control=new, instance=i)

    def step(self, actions):
        if self._ticks is None:
            raise RuntimeError("reset() comes before step()")
        if len(actions) != self.num_envs:
            raise ValueError(f"{self.num_envs} environments need as many actions, not {len(actions)}")
        actions = [_check_action(self.single_action_space, action) for action in actions]
        self._ticks += 1
        self._drive([self.task.control(action) for action in actions])
        infos = {}
        try:
            self.ensemble.advance(self._ticks * self.task.frame)
        except calder.Error:
            infos["failed"] = self.ensemble.failed
        again = self._restart()
        states, failed = self._states(), infos.get("failed", {})
        rewards, terminations, truncations = [], [], []
        for i, (q, v) in enumerate(states):
            self._ages[i] += 1
            fresh = i in again
            rewards.append(0.0 if fresh else float(self.task.reward(q, v, actions[i])))
            terminations.append(not fresh and (i in failed or bool(self.task.failed(q, v))))
            truncations.append(not fresh and self._ages[i] >= self.task.limit)
        self._over = [a or b for a, b in zip(terminations, truncations)]
        return self._observations(states), _vector(rewards), _flags(terminations), _flags(truncations), infos

    def close(self):
        self.ensemble.close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


# --- Tasks ---------------------------------------------------------------------------------------------------------------


class CartPole(Task):
    """A pole on a cart that is pushed with up to 10 N: keep it upright, and the cart on its track.

    Seen: the cart's position (m) and the pole's angle (rad), and their velocities. Done: a share of the force, -1 to 1.
    """

    text = """<mujoco model="cart-pole"><compiler angle="radian"/><worldbody>
      <body name="cart"><joint name="slide" type="slide" axis="1 0 0"/>
        <inertial pos="0 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>
        <geom type="box" size="0.2 0.1 0.08" contype="0" conaffinity="0"/>
        <body name="pole"><joint name="hinge" axis="0 1 0"/>
          <inertial pos="0 0 0.5" mass="0.1" diaginertia="0.0084 0.0084 0.0001"/>
          <geom type="capsule" fromto="0 0 0 0 0 1" size="0.03" contype="0" conaffinity="0"/></body></body>
      </worldbody><actuator><motor name="push" joint="slide" gear="10" ctrlrange="-1 1" ctrllimited="true"/></actuator></mujoco>"""
    simulation = {"solver": "rk4", "step": 1 / 128}
    track, tilt = 2.4, 0.21  # m, rad: beyond, an episode is over

    def __init__(self):
        self.model = calder.loads(self.text, name="cart-pole")
        self.action_space = Box([-1], [1])
        self.observation_space = Box([-math.inf] * 4, [math.inf] * 4)

    def start(self, generator):
        return [[generator.uniform(-0.05, 0.05) for _ in range(2)] for _ in range(2)]

    def failed(self, q, v):
        return abs(q[0]) > self.track or abs(q[1]) > self.tilt


class Stand(Task):
    """A humanoid, 64 kg, that is pushed and must not fall. Its ten joints have servos, too weak to hold it up by themselves.

    Seen: how far the torso is from where it began, ahead and to the left (m), how it leans ahead and to the right (rad), and the velocities of
    these four; then the joints' angles. Done: where ankles and hips shall go, ahead and sideways (rad, both legs alike).
    """

    stiffness, damping = 250.0, 15.0  # N m/rad, N m s/rad
    push = 0.3  # m/s, rad/s: the most that it has at the start
    height = 0.95  # m, of the torso at the start
    frame = 1 / 32
    limit = 160
    simulation = {"solver": "auto", "tol": 1e-3}

    def __init__(self):
        self.model = calder.loads(self._text(), name="stand")
        self.action_space = Box([-0.6] * 4, [0.6] * 4)
        seen = 8 + len(self.model.actuators)
        self.observation_space = Box([-math.inf] * seen, [math.inf] * seen)
        # Both legs do the same: ankle ahead, ankle sideways, hip ahead, hip sideways.
        joints = ("ankle_pitch", "ankle_roll", "hip_pitch", "hip_roll")
        self._sources = [
            next((k for k, joint in enumerate(joints) if name.endswith(joint)), None) for name in self.model.actuators
        ]

    def _leg(self, side, y):
        return f"""<body name="{side}_thigh" pos="0 {y} -0.05">
          <joint name="{side}_hip_roll" axis="1 0 0"/><joint name="{side}_hip_pitch" axis="0 1 0"/>
          <inertial pos="0 0 -0.2" mass="8" diaginertia="0.12 0.12 0.02"/>
          <geom type="capsule" fromto="0 0 -0.05 0 0 -0.36" size="0.06" contype="0" conaffinity="0"/>
          <body name="{side}_shank" pos="0 0 -0.42"><joint name="{side}_knee" axis="0 1 0"/>
            <inertial pos="0 0 -0.18" mass="4" diaginertia="0.06 0.06 0.006"/>
            <geom type="capsule" fromto="0 0 -0.02 0 0 -0.36" size="0.045" contype="0" conaffinity="0"/>
            <body name="{side}_foot" pos="0 0 -0.42">
              <joint name="{side}_ankle_pitch" axis="0 1 0"/><joint name="{side}_ankle_roll" axis="1 0 0"/>
              <inertial pos="0.03 0 -0.03" mass="1.2" diaginertia="0.002 0.006 0.006"/>
              <geom type="box" pos="0.04 0 -0.04" size="0.12 0.05 0.02"/></body></body></body>"""

    def _text(self):
        parts = ("hip_roll", "hip_pitch", "knee", "ankle_pitch", "ankle_roll")
        servos = "".join(
            f'<position name="{side}_{part}" joint="{side}_{part}" kp="{self.stiffness}"/>'
            for side in ("left", "right")
            for part in parts
        )
        return f"""<mujoco model="stand"><compiler angle="radian"/>
          <default><joint damping="{self.damping}" armature="0.02"/><geom friction="1"/></default>
          <worldbody><geom type="plane" size="0 0 1"/>
            <body name="torso" pos="0 0 {self.height}"><freejoint name="root"/>
              <inertial pos="0 0 0.22" mass="38" diaginertia="1.6 1.5 0.5"/>
              <geom type="capsule" fromto="0 0 0.05 0 0 0.45" size="0.13" contype="0" conaffinity="0"/>
              <geom type="sphere" pos="0 0 0.72" size="0.1" contype="0" conaffinity="0"/>
              {self._leg("left", 0.1)}{self._leg("right", -0.1)}</body></worldbody>
          <actuator>{servos}</actuator></mujoco>"""

    def start(self, generator):
        q, v, _ = (part.tolist() for part in self.model.start)
        for i in (0, 1, 3, 4):
            v[i] = generator.uniform(-self.push, self.push)
        return q, v

    def observe(self, q, v):
        w, x, y, z = q[3:7]
        # The torso's z axis, seen in the world: ahead, and to the right.
        ahead, right = 2 * (x * z + w * y), -2 * (y * z - w * x)
        return [q[0], q[1], ahead, right, v[0], v[1], v[4], v[3], *q[7:]]

    def control(self, action):
        return [0.0 if k is None else action[k] for k in self._sources]

    def reward(self, q, v, action):
        return 1.0 - q[0] ** 2 - q[1] ** 2 - 0.01 * sum(a * a for a in action)

    def failed(self, q, v):
        return q[2] < 0.75 * self.height


class Humanoid(Task):
    """The generator's humanoid (73 kg, 30 hinges) on its floor, that is pushed and must not fall.

    Its joints have servos, which carry it in balance. Those of ankles and hips, by which it is steered, are too weak to bring it back there.

    Seen: how far the pelvis is from where it began, ahead and to the left (m), how it leans ahead and to the right (rad), and the velocities of
    these four; then the joints' angles. Done: where ankles and hips shall go, ahead and sideways (rad, both legs alike), from where they were.
    """

    steered = ("_ankle", "_foot", "_thigh", "_hip_roll")  # joints of both legs: ankle ahead and sideways, hip ahead and sideways
    soft, stiff = (250.0, 15.0), (1000.0, 30.0)  # servos of ankles ahead and hips sideways, and of the rest: N m/rad, N m s/rad
    armature = 0.02  # kg m²
    lean = 0.085  # rad: its weight is on the feet, ahead of the ankles
    push = 0.2  # m/s, rad/s: the most that it has at the start
    frame = 1 / 32
    limit = 160
    simulation = {"solver": "auto", "tol": 1e-3}

    def __init__(self):
        root = self._humanoid()
        self.model = calder.loads(ElementTree.tostring(root, encoding="unicode"), name="humanoid")
        self._pose(root)
        self.action_space = Box([-0.6] * 4, [0.6] * 4)
        seen = 8 + len(self.model.actuators)
        self.observation_space = Box([-math.inf] * seen, [math.inf] * seen)
        # Both legs do the same: which number of an action, and in which sense, since the right leg's axes are the left one's in a mirror.
        self._sources = [
            next((k for k, joint in enumerate(self.steered) if name.endswith(joint)), None) for name in self.model.actuators
        ]
        self._senses = [math.copysign(1.0, sum(self.model.joint(name)["axis"])) for name in self.model.actuators]

    def _servo(self, joint):
        return self.soft if joint.endswith(("_ankle", "_hip_roll")) else self.stiff

    def _humanoid(self):
        """The generator's model, with a servo for every hinge."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "humanoid.xml")
            calder.generate("humanoid:start=0").write(path)
            root = ElementTree.parse(path).getroot()
        servos = ElementTree.SubElement(root, "actuator")
        for joint in root.iter("joint"):
            if joint.get("type") == "free":
                continue
            name = joint.get("name")
            stiffness, damping = self._servo(name)
            joint.set("damping", str(damping))
            joint.set("armature", str(self.armature))
            ElementTree.SubElement(servos, "position", name=name, joint=name, kp=str(stiffness))
        return root

    def _pose(self, root):
        """Upright, feet level on the floor, and the servos where they hold it: forces at rest, less what the floor carries."""
        model, q = self.model, self.model.start[0].tolist()
        feet = [model.bodies[f"{side}_foot"] for side in ("left", "right")]
        x, _, z = model.body(feet[0])["center"]
        slope = math.atan2(-z, x)  # of a foot whose ankle is straight
        for side in ("left", "right"):
            q[model.joint(f"{side}_ankle")["q"]] = [-slope - self.lean]
        q[3:7] = math.cos(self.lean / 2), 0.0, math.sin(self.lean / 2), 0.0
        floor = float(root.find("worldbody/geom[@name='floor']").get("pos").split()[2])
        radius = float(root.find(".//body[@name='left_foot']/geom").get("size").split()[0])
        q[2] += floor + radius - calder.poses(model, q)[feet[0], 2]
        force = calder.inverse(model, q, [0.0] * model.nv).tolist()
        weight, centre = force[2], q[0] - force[4] / force[2]
        poses = calder.poses(model, q)
        for foot in feet:
            ahead = centre - poses[foot, 0]
            up = calder.jacobian(model, q, foot, (ahead * math.cos(slope), 0.0, -ahead * math.sin(slope)))[2]
            force = [f - weight / len(feet) * u for f, u in zip(force, up)]
        joints = [model.joint(name) for name in model.actuators]
        self._start, self._height = q, q[2]
        self._held = [q[j["q"].start] + force[j["v"].start] / self._servo(j["name"])[0] for j in joints]

    def start(self, generator):
        v = [0.0] * self.model.nv
        for i in (0, 1, 3, 4):
            v[i] = generator.uniform(-self.push, self.push)
        return self._start, v

    def observe(self, q, v):
        w, x, y, z = q[3:7]
        # The pelvis' z axis, seen in the world: ahead, and to the right.
        ahead, right = 2 * (x * z + w * y), -2 * (y * z - w * x)
        return [q[0], q[1], ahead - self.lean, right, v[0], v[1], v[4], v[3], *q[7:]]

    def control(self, action):
        moved = (0.0 if k is None else sense * action[k] for k, sense in zip(self._sources, self._senses))
        return [held + move for held, move in zip(self._held, moved)]

    def reward(self, q, v, action):
        return 1.0 - q[0] ** 2 - q[1] ** 2 - 0.01 * sum(a * a for a in action)

    def failed(self, q, v):
        return q[2] < 0.75 * self._height


_tasks = {"cartpole": CartPole, "humanoid": Humanoid, "stand": Stand}


def _task(which):
    if isinstance(which, Task):
        return which
    if which not in _tasks:
        raise ValueError(f"there is no task {which!r}; there are {', '.join(_tasks)}")
    return _tasks[which]()


def make(task, **simulation):
    """An environment of a task, 'cartpole', 'humanoid', 'stand' or a Task of one's own; other arguments are those of calder.Simulation."""
    return Env(_task(task), **simulation)


def make_vec(task, num_envs, **simulation):
    """So many of them side by side; other arguments are those of calder.Ensemble."""
    return VectorEnv(_task(task), num_envs, **simulation)
