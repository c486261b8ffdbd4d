"""An unsuitable machine gets a clear message before any work is done."""


def refused(result, *words):
    """Checks for exit code 5, an error line, and every word that names the problem and its remedy."""
    assert result.returncode == 5, result.stdout + result.stderr
    assert result.stderr.splitlines()[-1 - result.stderr.count("\n  ")].startswith("error: "), result.stderr
    for word in words:
        assert word in result.stderr, f"{word!r} is not in:\n{result.stderr}"
    return True


def test_good_ground_passes_without_a_word(machine):
    result = machine.preflight("ground", "--check")

    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_a_full_disk_is_named_with_what_is_needed(machine):
    machine.free_megabytes(731)

    result = machine.preflight("ground")

    assert refused(result, "not enough space", "731 MB free", "3000 MB are needed", "./quickstart --small")


def test_the_small_demo_needs_less_space(machine):
    machine.free_megabytes(1_300)

    assert machine.preflight("ground", "--small").returncode == 0
    assert machine.preflight("ground").returncode == 5


def test_a_processor_below_x86_64_v2_is_refused_with_what_it_lacks(machine):
    machine.processor("fpu sse sse2 cx16 lahf_lm pni ssse3 sse4_1")

    result = machine.preflight("ground")

    assert refused(result, "below x86-64-v2", "popcnt sse4_2", "cmake --preset release")
    assert "ssse3" not in result.stderr


def test_a_processor_of_another_kind_is_refused(machine):
    machine.machine("riscv64")

    assert refused(machine.preflight("ground"), "riscv64", "aarch64")


def test_an_arm_processor_is_welcome(machine):
    machine.machine("aarch64")
    machine.processor("")

    assert machine.preflight("ground").returncode == 0


def test_another_operating_system_is_refused(machine):
    machine.machine("arm64", kernel="Darwin")

    assert refused(machine.preflight("ground"), "Darwin", "Linux only")


def test_a_missing_compiler_is_named(machine):
    machine.without("g++")

    assert refused(machine.preflight("tools"), "no C++ compiler", "g++", "apt-get install g++")


def test_a_compiler_that_cannot_compile_cxx20_is_refused(machine):
    machine.tool("g++", "[[ $1 == -dumpversion ]] && { echo 7.5.0; exit 0; }; exit 1")

    assert refused(machine.preflight("tools"), "version 7.5.0", "C++20", "g++ 12")


def test_the_compiler_of_the_environment_is_the_one_that_is_looked_at(machine):
    machine.tool("my-compiler", "exit 1")

    assert refused(machine.preflight("tools", CXX="my-compiler"), "my-compiler")


def test_a_missing_compiler_is_no_obstacle_while_packages_can_still_be_installed(machine):
    machine.without("g++")
    machine.packages(missing=["g++"])

    assert machine.preflight("ground").returncode == 0


def test_no_fit_python_names_every_one_that_was_found(machine):
    machine.python("python3.11", "3.11.2", venv=False)
    machine.python("python3", "3.9.2")

    result = machine.preflight("tools")

    assert refused(result, "3.11 to 3.13", "python3.11: version 3.11.2 without the venv module", "python3: version 3.9.2",
                   "python3.12: not found", "FATCTX_PYTHON=")


def test_the_second_candidate_is_taken_when_the_first_is_missing(machine):
    machine.without("python3.11")
    machine.python("python3", "3.13.0")

    assert machine.preflight("tools").returncode == 0


def test_a_python_that_is_too_new_is_refused(machine):
    machine.without("python3.11")
    machine.python("python3", "3.14.0")

    assert refused(machine.preflight("tools"), "python3: version 3.14.0")


def test_a_named_python_is_never_replaced_by_another(machine):
    machine.python("old-python", "3.8.10")

    result = machine.preflight("ground", FATCTX_PYTHON="old-python")

    assert refused(result, "old-python: version 3.8.10")
    assert "python3.11" not in result.stderr.splitlines()[0]


def test_a_named_python_is_looked_at_before_packages_are_installed(machine):
    machine.packages(missing=["cmake"])

    assert refused(machine.preflight("ground", FATCTX_PYTHON="nowhere/python"), "nowhere/python: not found")


def test_without_rights_the_missing_packages_are_named(machine):
    machine.packages(missing=["ninja-build", "libfmt-dev"])
    machine.user(1000)

    assert refused(machine.preflight("ground"), "neither root nor is sudo here", "apt-get install ninja-build libfmt-dev",
                   "--no-install")


def test_sudo_is_right_enough(machine):
    machine.packages(missing=["ninja-build"])
    machine.user(1000)
    machine.tool("sudo", "exit 1")  # it exists; it is not called before set-up

    assert machine.preflight("ground").returncode == 0


def test_rights_do_not_matter_when_nothing_is_missing(machine):
    machine.user(1000)

    assert machine.preflight("ground", "--check").returncode == 0


def test_no_install_names_what_is_missing(machine):
    machine.packages(missing=["ninja-build"])

    assert refused(machine.preflight("ground", "--no-install"), "--no-install", "missing: ninja-build")


def test_packages_of_the_checks_are_asked_for_only_by_the_checks(machine):
    machine.packages(missing=["clang-tidy-14"])

    assert machine.preflight("ground", "--no-install").returncode == 0
    assert refused(machine.preflight("ground", "--no-install", "--check"), "clang-tidy-14")


def test_another_distribution_hears_what_is_needed_and_goes_on(machine):
    machine.system("fedora", "40", "Fedora Linux 40")
    machine.without("apt-get")
    for name in ("cmake", "ninja", "protoc", "pkg-config", "git"):
        machine.tool(name, "exit 0")

    result = machine.preflight("ground")

    assert result.returncode == 0, result.stderr
    assert "Fedora Linux 40" in result.stdout and "libboost-filesystem-dev" in result.stdout


def test_another_distribution_without_the_tools_is_told_which(machine):
    machine.system("fedora", "40", "Fedora Linux 40")
    machine.without("apt-get")
    machine.tool("cmake", "exit 0")

    result = machine.preflight("ground")

    assert refused(result, "missing commands: ninja protoc pkg-config git")
    assert "cmake" not in result.stderr


def test_a_relative_of_debian_is_warned(machine):
    machine.system("ubuntu", "24.04", "Ubuntu 24.04 LTS")

    result = machine.preflight("ground")

    assert result.returncode == 0
    assert "warning: tested on Debian 12; this is Ubuntu 24.04 LTS" in result.stderr


def test_an_unknown_argument_is_a_usage_error(machine):
    assert machine.preflight("--grund").returncode == 2
