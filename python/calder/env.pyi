"""Environments with Gymnasium's calling convention, which need neither Gymnasium nor NumPy."""

import random
from collections.abc import Iterable, Sequence
from typing import Any

import calder

__all__ = ["Box", "CartPole", "Env", "Stand", "Task", "VectorEnv", "make", "make_vec"]

# NumPy arrays where NumPy is there, array.array and lists of them elsewhere.
Numbers = Any
Rows = Any

class Box:
    dtype: str
    shape: tuple[int, ...]
    low: Numbers
    high: Numbers
    def __init__(self, low: Sequence[float], high: Sequence[float], rows: int | None = None) -> None: ...
    def seed(self, seed: int | None = None) -> list[int | None]: ...
    def sample(self) -> Numbers: ...
    def contains(self, x: Any) -> bool: ...
    def __contains__(self, x: Any) -> bool: ...

class Task:
    model: calder.Model
    frame: float
    limit: int
    simulation: dict[str, Any]
    action_space: Box
    observation_space: Box
    def start(self, generator: random.Random) -> tuple[Sequence[float], Sequence[float]]: ...
    def observe(self, q: list[float], v: list[float]) -> list[float]: ...
    def control(self, action: list[float]) -> list[float]: ...
    def reward(self, q: list[float], v: list[float], action: list[float]) -> float: ...
    def failed(self, q: list[float], v: list[float]) -> bool: ...

class CartPole(Task):
    text: str
    track: float
    tilt: float

class Humanoid(Task):
    steered: tuple[str, ...]
    soft: tuple[float, float]
    stiff: tuple[float, float]
    armature: float
    lean: float
    push: float

class Stand(Task):
    stiffness: float
    damping: float
    push: float
    height: float

class Env:
    metadata: dict[str, Any]
    render_mode: None
    spec: None
    task: Task
    sim: calder.Simulation
    action_space: Box
    observation_space: Box
    def __init__(self, task: Task, **simulation: Any) -> None: ...
    @property
    def unwrapped(self) -> Env: ...
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Numbers, dict[str, Any]]: ...
    def step(self, action: Iterable[float]) -> tuple[Numbers, float, bool, bool, dict[str, Any]]: ...
    def render(self) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Env: ...
    def __exit__(self, *unused: object) -> None: ...

class VectorEnv:
    metadata: dict[str, Any]
    render_mode: None
    spec: None
    task: Task
    num_envs: int
    ensemble: calder.Ensemble
    single_action_space: Box
    single_observation_space: Box
    action_space: Box
    observation_space: Box
    def __init__(self, task: Task, num_envs: int, **simulation: Any) -> None: ...
    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Rows, dict[str, Any]]: ...
    def step(self, actions: Sequence[Iterable[float]]) -> tuple[Rows, Numbers, Numbers, Numbers, dict[str, Any]]: ...
    def close(self) -> None: ...
    def __enter__(self) -> VectorEnv: ...
    def __exit__(self, *unused: object) -> None: ...

def make(task: str | Task, **simulation: Any) -> Env: ...
def make_vec(task: str | Task, num_envs: int, **simulation: Any) -> VectorEnv: ...
