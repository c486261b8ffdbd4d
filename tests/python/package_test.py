"""The installed package: version, stubs, behavior without its optional companions, samples."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fatctx
from fatctx import _core

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(fatctx.__file__).parent


def test_the_version_is_the_projects():
    stated = re.search(r"project\(fatctx\s+VERSION\s+([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    assert fatctx.__version__ == _core.__version__ == stated
    assert re.fullmatch(r"\d+\.\d+", fatctx.__format_version__)


def test_everything_public_is_there_and_has_something_to_say():
    for name in fatctx.__all__:
        value = getattr(fatctx, name)
        if inspect.isclass(value) or inspect.isroutine(value):
            assert inspect.getdoc(value), f"fatctx.{name} has no documentation"
    assert set(fatctx.__all__) >= {name for name in vars(_core) if not name.startswith("_")}


def stub_names(body: list[ast.stmt]) -> set[str]:
    found = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.Assign):  # a member of an enumeration
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def test_the_stubs_name_what_the_module_has():
    stub = ast.parse((PACKAGE / "_core.pyi").read_text())
    public = {name for name in vars(_core) if not name.startswith("_")}
    assert {name for name in stub_names(stub.body) if not name.startswith("_")} == public
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    for name in public:
        cls = getattr(_core, name)
        if inspect.isclass(cls):
            members = {member for member in vars(cls) if not member.startswith("_")}
            assert {m for m in stub_names(classes[name].body) if not m.startswith("_")} == members, name
    for name in ("RecordView", "ThinDlcView", "WeightView"):
        assert "__buffer__" in stub_names(classes[name].body)
    assert (PACKAGE / "py.typed").exists()


def test_the_stubs_are_python_that_compiles():
    """The parser alone accepts a keyword that is named twice; type checkers and the compiler do not."""
    compile((PACKAGE / "_core.pyi").read_text(), "_core.pyi", "exec")


def test_every_type_a_stub_names_is_known_there():
    stub = ast.parse((PACKAGE / "_core.pyi").read_text())
    known = stub_names(stub.body) | set(dir(__builtins__)) | {"__buffer__"}
    known |= {"bool", "bytes", "float", "int", "list", "memoryview", "object", "property", "staticmethod", "str",
              "tuple", "dict", "type"}
    for node in stub.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            known |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    used = set()
    for node in ast.walk(stub):
        if isinstance(node, ast.FunctionDef):
            parts = [argument.annotation for argument in ast.walk(node.args) if isinstance(argument, ast.arg)]
            for annotation in [*parts, node.returns]:
                if annotation is not None:
                    used |= {name.id for name in ast.walk(annotation) if isinstance(name, ast.Name)}
    assert used - known == set()


BLOCK = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in sys.argv[2].split(","):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Refuse())
import fatctx
view = fatctx.open(sys.argv[1]).acquire("net.aarch64")
"""


def test_without_numpy_buffers_still_work_and_numpy_says_what_to_install(run_python, small_file):
    program = BLOCK + """
print(len(bytes(memoryview(view))))
try:
    view.numpy()
except ImportError as error:
    print(error, "|", type(error.__cause__).__name__)
"""
    lines = run_python(program, small_file, "numpy").splitlines()
    assert lines[0] == "70003"
    assert "pip install \"fatctx[numpy]\"" in lines[1] and lines[1].endswith("| ModuleNotFoundError")


def test_without_iree_the_module_imports_and_says_what_to_install_when_used(run_python, small_file):
    program = BLOCK + """
import fatctx.iree
try:
    fatctx.iree.Runtime.from_views(view)
except ImportError as error:
    print(error)
print(sorted(set(sys.modules) & {"numpy", "iree", "iree.runtime"}))
"""
    lines = run_python(program, small_file, "iree").splitlines()
    assert "pip install \"fatctx[iree]\"" in lines[0]
    assert lines[1] == "[]", "importing fatctx alone loads neither NumPy nor IREE"


def test_the_module_links_no_library_of_its_own_making():
    done = subprocess.run(["ldd", _core.__file__], capture_output=True, text=True, check=True)
    assert "not found" not in done.stdout and "libfatctx" not in done.stdout


def test_the_quickstart_sample_runs(minilm_file):
    pytest.importorskip("iree.runtime", reason="IREE's run time is not installed (pip install iree-base-runtime)")
    sample = ROOT / "samples" / "python_quickstart.py"
    done = subprocess.run([sys.executable, str(sample), str(minilm_file)], capture_output=True, text=True,
                          env={"PYTHONPATH": str(PACKAGE.parent), "PATH": ""})
    assert done.returncode == 0, done.stderr
    assert "chosen: minilm." in done.stdout and done.stdout.endswith("output (1, 4, 384) float32\n")
    code = [line for line in sample.read_text().splitlines() if line and not line.startswith(('"""', "import"))]
    assert len(code) <= 10
