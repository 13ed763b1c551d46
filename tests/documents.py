"""Runs what README.md and docs/ tell users to type: python3 documents.py SOURCE CALDER

Fenced blocks: every command that begins with `calder` (also after `$ `, mpirun or srun) is run, at a small size: short times, small
models, one process instead of ranks and of a GPU. The server is started and ended. Benchmarks are not run: their options and models are
looked up. Lines that a page shows below `$ calder …` are what the command says, at its full size, but for plans, which have times of the
machine. Code spans in the text: options of the commands that they name exist. Besides: links lead somewhere, names of the C interface
exist, and files that a page names are there.
"""
import concurrent.futures
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading

source, calder = pathlib.Path(sys.argv[1]).resolve(), str(pathlib.Path(sys.argv[2]).resolve())
pages = [source / "README.md", *sorted((source / "docs").glob("**/*.md"))]
mistakes, counts, lock = [], {}, threading.Lock()

# What commands of the pages read: a robot with a keyframe, a sensor and motors, above a floor that it touches.
ROBOT = """<mujoco><worldbody><geom type="plane" size="1 1 .1"/><body name="base" pos="0 0 .2"><freejoint/><geom name="foot" size=".1"/>
<body name="arm" pos="0 0 .1"><joint name="shoulder" axis="0 1 0"/><geom type="capsule" size=".03" fromto="0 0 .05 0 0 .3"/></body></body></worldbody>
<actuator><position joint="shoulder" kp="10"/></actuator><sensor><jointpos name="angle" joint="shoulder"/></sensor>
<keyframe><key name="home" qpos="0 0 .2 1 0 0 0 0"/><key name="throw" qpos="0 0 .5 1 0 0 0 0" qvel="1 0 1 0 0 0 0"/></keyframe></mujoco>"""
TWO_ANGLES = """<mujoco><worldbody><body><joint name="a"/><geom size=".1" pos=".3 0 0"/></body></worldbody>
<equality><joint name="one" joint1="a" polycoef=".1 0 0 0 0"/><joint name="two" joint1="a" polycoef=".2 0 0 0 0"/></equality></mujoco>"""
URDF = """<robot name="r"><link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>"""
# Commands that a page shows because they fail.
FAIL = ("rolling-disk:tilt=0.3,speed=0,turn=0", "two-angles-for-one-hinge.xml")


def complain(page, line, text):
    with lock:
        mistakes.append(f"{page.relative_to(source)}:{line}: {text}")


def count(what):
    with lock:
        counts[what] = counts.get(what, 0) + 1


def ask(words, folder, environment=None):
    return subprocess.run([calder, *words], cwd=folder, capture_output=True, text=True, timeout=120, env=environment)


# --- What a page tells to type ------------------------------------------------------------------------------------------------

def fenced(page):
    """Lines of fenced blocks, with their numbers and the block's language; continued lines are one."""
    language, held, first = None, "", 0
    for number, line in enumerate(page.read_text().split("\n"), 1):
        if line.startswith("```"):
            language = None if language is not None else line[3:].strip()
            continue
        if language is None:
            continue
        held, first = held + line.rstrip("\\"), first or number
        if not line.endswith("\\"):
            yield first, language, held
            held, first = "", 0


def command_of(line):
    """The words after `calder`, without what explains them; None: it is another line."""
    found = re.match(r"(?:\$ )?(?:(?:mpirun|srun)(?: -{1,2}[\w=-]+(?: \d+)?)* )?calder (.*)", line)
    if not found or re.search("[│┐┘]|MODEL|PAGE|SHELL|COMMAND", line):
        return None
    text = re.split(r" {3,}(?!\S+\.xml)| +# | \| | > |<\(| \$resume", found.group(1))[0]
    return shlex.split(text.replace("…", ""))


# --- Options, as the help lists them --------------------------------------------------------------------------------------------

helps = {}


def options_of(command):
    """Options of a command with what they choose from, or None."""
    with lock:
        known = helps.get(command)
    if known is not None:
        return known
    text = ask([*command.split(), "--help"], source).stdout
    found, last = {"--help": None}, None
    for line in text.split("\n"):
        named = re.match(r"  (--[\w-]+)( \S+)?", line)
        if named:
            last = named.group(1)
            found[last] = [] if named.group(2) else None
        elif last and found[last] is not None and re.match(r" {20,}\S+( \| \S+)+$", line):
            found[last] = line.split()[::2]
    with lock:
        helps[command] = found
    return found


def split_command(words):
    return (" ".join(words[:2]), words[2:]) if words[0] == "bench" else (words[0], words[1:])


def look_up(page, line, words):
    """Options exist and have values that they choose from. Returns the plain words."""
    command, rest = split_command(words)
    known, plain, value = options_of(command), [], None
    if len(known) < 2 and command not in ("completion", "manual"):
        return complain(page, line, f"there is no command '{command}'")
    for word in rest:
        if value:
            choices = [] if re.match(r"[A-Z]{2,}", word) else word.split("|")
            if known[value] and not set(choices) <= set(known[value]):
                complain(page, line, f"{value} {word}: help has {', '.join(known[value])}")
            value = None
        elif word.startswith("--"):
            if word not in known:
                complain(page, line, f"'calder {command}' has no option {word}")
            value = word if known.get(word) is not None else None
        else:
            plain.append(word)
    return plain


# --- At a small size ------------------------------------------------------------------------------------------------------------

def smaller(model):
    model = re.sub(r"\b(n)=\d{3,}", r"\1=40", model)
    return re.sub(r"s=[4-9],l=\d+", "s=2,l=3", model)


def set_option(words, name, value):
    words = list(words)
    if name in words:
        words[words.index(name) + 1] = value
    elif value is not None:
        words += [name, value]
    return words


def shorten(words):
    command, words = words[0], [words[0], *map(smaller, words[1:])]
    if "--machine" in words and re.match("mpi|cuda", words[words.index("--machine") + 1]) and command != "plan":
        at = words.index("--machine")
        words[at:at + 2] = []
    if command == "sim":
        if not any(failing in words for failing in FAIL):
            words = set_option(words, "--time", "0.01")
        if "--at" in words:
            words = set_option(words, "--at", re.sub(r"(^|,)[\d.]+:", r"\g<1>0:", words[words.index("--at") + 1]))
        if "--batch" in words:
            words = set_option(words, "--batch", "4")
    if command == "plan":
        if "cuda" in words:
            return words
        if "--machine" in words:
            at = words.index("--machine")
            words[at:at + 2] = []
        if re.match(r"atoms|avalanche|robots|stack|cars", words[1]):
            return set_option(words, "--time", "0.01")
        if "--compute" not in words:
            words += ["--compute", "50ns", "--message", "1us"]
    return words


def show(page, line, words, folder):
    """Starts the server, and ends it when it has said where it is."""
    words = [word for word in words if word != "--open"]
    server = subprocess.Popen([calder, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first = server.stdout.readline()
    if "http://" in first:
        server.send_signal(signal.SIGTERM)
    _, said = server.communicate(timeout=120)
    if "http://" not in first or server.returncode != 0:
        complain(page, line, f"'calder {' '.join(words)}': status {server.returncode}, {first.strip()} {said.strip()}")


def run(page, line, words, folder):
    plain = look_up(page, line, words)
    if plain is None:
        return
    if words[0] in ("bench", "report"):
        for model in plain:
            if re.match(r"[a-z-]+:[a-z_]+=", model) and ask(["info", smaller(model)], folder).returncode != 0:
                complain(page, line, f"'{model}' is no model")
        return count("looked up")
    short = shorten(words)
    if short[0] == "view":
        show(page, line, short, folder)
        return count("served")
    answer = ask(short, folder)
    fails = any(failing in words for failing in FAIL)
    if (answer.returncode != 0) != fails:
        complain(page, line, f"'calder {' '.join(short)}' ends with {answer.returncode}: {answer.stderr.strip()}")
    count("run")


def follow(page):
    """Runs a page's commands one after the other, in a folder of its own: later ones read what earlier ones wrote."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "tests").symlink_to(source / "tests")
        (folder / "bench").symlink_to(source / "bench")
        for file in ("robot.xml", "scene.xml"):
            (folder / file).write_text(ROBOT)
        (folder / "two-angles-for-one-hinge.xml").write_text(TWO_ANGLES)
        (folder / "robot.urdf").write_text(URDF)
        (folder / "pose.json").write_text('{"q": [0.3, 0, 0, 0]}')
        models = re.findall(r"`(\w+\.xml)`:\n\n```xml\n(.*?)```", page.read_text(), re.S)
        for file, text in models:
            (folder / file).write_text(text)
        for line, language, text in fenced(page):
            words = command_of(text)
            if words and language in ("", "sh", "bash"):
                run(page, line, words, folder)
        for line, words, lines in answers(page):
            compare(page, line, words, lines, folder)


# --- What commands answer -------------------------------------------------------------------------------------------------------

def answers(page):
    """Commands whose answers a page shows, with the lines: up to the next command, or the end of the block."""
    command, lines, first = None, [], 0
    for number, line in enumerate(page.read_text().split("\n"), 1):
        if line.startswith(("```", "$ ")):
            if command and lines:
                yield first, command, lines
            command, lines, first = command_of(line), [], number
        elif command and line.strip(" …"):
            lines.append(" ".join(line.split()))


def compare(page, line, words, lines, folder):
    if words[0] in ("view", "bench", "report") or words[0] == "plan" and "--compute" not in words:
        return
    answer = ask(words, folder)
    said = [" ".join(text.split()) for text in (answer.stdout + answer.stderr).split("\n")]
    for shown in lines:
        begin = shown.rstrip(" …")
        if not any(text == shown or begin != shown and text.startswith(begin) for text in said):
            complain(page, line, f"'calder {' '.join(words)}' does not say '{shown}'")
    count("answers")


# --- The text -------------------------------------------------------------------------------------------------------------------

def anchors(page):
    found, fence = set(), False
    for line in page.read_text().split("\n"):
        fence ^= line.startswith("```")
        if line.startswith("#") and not fence:
            title = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower().replace("`", ""))
            found.add(title.replace(" ", "-"))
    return found


def read_text(page, names):
    fence = False
    for line, text in enumerate(page.read_text().split("\n"), 1):
        fence ^= text.startswith("```")
        for name in re.findall(r"\b(?:cal|CAL)_\w+", text):
            if name not in names and not any(other.startswith(name.rstrip("_") + "_") for other in names): # or a family of names
                complain(page, line, f"there is no {name}")
        if fence:
            continue
        for target in re.findall(r"\]\(([^)]+)\)", text):
            if re.match(r"https?:", target):
                continue
            file, _, anchor = target.partition("#")
            there = (page.parent / file).resolve() if file else page
            if not there.exists():
                complain(page, line, f"{target} is not there")
            elif anchor and anchor not in anchors(there):
                complain(page, line, f"{target}: there is no such heading")
            count("links")
        for span in re.findall(r"`((?:mpirun -n \d+ )?calder [^`]*)`", text):
            words = re.sub("^mpirun -n \\d+ ", "", span).replace("'", "").split()[1:]
            if words and re.match(r"[a-z]+$", words[0]) and words[0] != "help" and (words[0] != "bench" or len(words) > 1):
                look_up(page, line, words)
                count("looked up")
        for path in re.findall(r"`((?:src|tests|scripts|samples|bench|docs|web|include|python|cli)/[\w./-]*)`", text):
            if "NAME" not in path and not (source / path).exists():
                complain(page, line, f"{path} is not there")


def names_of_interface():
    words = set()
    for folder in ("include", "src", "python", "tests", "bench", "cli"):
        for file in (source / folder).glob("**/*"):
            if file.suffix in (".h", ".c", ".cu", ".py", ".md"):
                words.update(re.findall(r"\b(?:cal|CAL)_\w+", file.read_text()))
    return words


def read_generators():
    """Every generator has a row in models.md, with all of its parameters and their defaults; every scene one in world.md."""
    page, name, generators = source / "docs/models.md", None, True
    rows = {row.split("`")[1]: row.replace("\\|", "|") for row in page.read_text().split("\n") if row.startswith("| `")}
    scenes = (source / "docs/world.md").read_text()
    for line in ask(["help", "models"], source).stdout.split("\n"):
        generators &= not line.startswith("A scene")
        if re.fullmatch(r"[a-z-]+", line):
            name = line
            if name not in rows if generators else f"| `{name}` |" not in scenes:
                complain(page, 0, f"'{name}' is not listed")
            count("generators and scenes")
        setting = re.match(r"      (\w+=\S+)  ", line)
        if setting and generators and f"`{setting.group(1)}`" not in rows.get(name, ""):
            complain(page, 0, f"'{name}' has {setting.group(1)}, which is not listed so")


os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    list(pool.map(follow, pages))
names = names_of_interface()
for each in pages:
    read_text(each, names)
read_generators()
print(*sorted(mistakes), sep="\n")
print(f"{len(pages)} pages:", ", ".join(f"{number} {what}" for what, number in sorted(counts.items())), f"; {len(mistakes)} mistakes")
sys.exit(1 if mistakes or counts.get("run", 0) < 40 else 0)
