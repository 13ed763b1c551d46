"""A leg, driven by a controller of a few lines, and a ball that falls on the floor."""

import calder

ROBOT = """<mujoco model="leg">
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1"/>
    <body name="hip" pos="0 0 0.8">
      <geom type="sphere" size="0.1" mass="5"/>
      <body name="thigh">
        <joint name="hip" axis="0 1 0" damping="0.5"/>
        <geom type="capsule" fromto="0 0 0  0 0 -0.35" size="0.04" mass="2"/>
        <body name="shank" pos="0 0 -0.35">
          <joint name="knee" axis="0 1 0" damping="0.5" range="-150 0" limited="true"/>
          <geom type="capsule" fromto="0 0 0  0 0 -0.35" size="0.03" mass="1"/>
        </body>
      </body>
    </body>
    <body name="ball" pos="0.6 0 0.5"><freejoint/><geom type="sphere" size="0.08" mass="0.4"/></body>
  </worldbody>
  <actuator><motor name="hip" joint="hip"/><motor name="knee" joint="knee"/></actuator>
</mujoco>"""

model = calder.loads(ROBOT)
sim = calder.Simulation(model)
hip, knee = (model.joint(name) for name in ("hip", "knee"))
wanted = {"hip": -1.0, "knee": -1.2}

for tick in range(200):  # a hundred times per second
    for joint in (hip, knee):
        (angle,), (speed,) = sim.q[joint["q"]], sim.v[joint["v"]]
        target = wanted[joint["name"]] if tick < 100 else 0.0
        sim.control[model.actuators[joint["name"]]] = 60 * (target - angle) - 6 * speed
    sim.advance((tick + 1) / 100)
    if tick == 99:
        print(f"lifted: hip {sim.q[hip['q']][0]:+.2f} rad, knee {sim.q[knee['q']][0]:+.2f} rad")

for contact in sim.contacts:
    names = [list(model.bodies)[b] if b >= 0 else "floor" for b in contact.bodies]
    print(f"{names[1]} presses on {names[0]} with {contact.force[2]:+.2f} N")
print(f"{sim.report['collisions']} collisions in {sim.time:g} s, state {sim.hash:016x}")
