"""OpenMDAO models with remote components, each reduced to the values that it came to.

A model is a function of a connection: ``connect("module:factory")`` opens a channel to a server.
"""

import contextlib
from pathlib import Path

import numpy as np
import openmdao.api as om
from philote_mdo.openmdao import RemoteExplicitComponent, RemoteImplicitComponent

OURS = "openmdao_disciplines"
A = np.linspace(-1.0, 2.0, 6).reshape(2, 3)
C = np.array([0.1, -0.0, 5e-324, 3.0])


def values(prob, *names):
    return {name: np.array(prob.get_val(name)) for name in names}


def totals(prob, of, wrt):
    return {key: np.array(value) for key, value in prob.compute_totals(of=of, wrt=wrt).items()}


def set_up(prob, **start):
    prob.setup()
    for name, value in start.items():
        prob.set_val(name, value)
    prob.run_model()
    return prob


def mixed(connect):
    prob = om.Problem(reports=False)
    remote = RemoteExplicitComponent(channel=connect(f"{OURS}:Mixed"))
    prob.model.add_subsystem("remote", remote, promotes=["*"])
    set_up(prob, a=A, b=0.7, c=C)
    results = [values(prob, "f", "g"), totals(prob, ["f", "g"], ["a", "b", "c"])]
    # Values set between two runs arrive, and so do those of a nested name.
    prob.set_val("a", A[::-1])
    prob.run_model()
    return [*results, values(prob, "f", "g"), totals(prob, ["g", "f"], ["c", "a"])]


class Scaled(om.Group):
    """Scaled outputs, units, and inputs that are parts of what they are connected to."""

    def __init__(self, channel):
        super().__init__()
        self._channel = channel

    def setup(self):
        source = self.add_subsystem("source", om.IndepVarComp())
        source.add_output("a", np.arange(12.0).reshape(4, 3) / 7, units="cm", ref=10.0, ref0=1.0)
        source.add_output("c", np.arange(9.0) / 3)
        source.add_output("b", 2.5, units="ms")
        self.add_subsystem("remote", RemoteExplicitComponent(channel=self._channel))
        self.add_subsystem("sink", om.ExecComp("s = sum(f) * 3", f={"shape": 2, "units": "km"}))
        self.connect("source.a", "remote.a", src_indices=om.slicer[::3, ::-1])
        self.connect("source.c", "remote.c", src_indices=[8, 1, 1, 4], flat_src_indices=True)
        self.connect("source.b", "remote.b")
        self.connect("remote.f", "sink.f")

    def configure(self):
        self.remote.set_output_solver_options("f", ref=7.0, ref0=-2.0)
        self.remote.set_output_solver_options("g", ref=np.array([[1.0], [20.0], [0.3]]))


def scaled(connect):
    prob = om.Problem(model=Scaled(connect(f"{OURS}:Mixed")), reports=False)
    prob.model.nonlinear_solver = om.NonlinearBlockGS(maxiter=3, iprint=-1)
    set_up(prob)
    prob.model.run_apply_nonlinear()
    residuals = prob.model._residuals.asarray(copy=True)
    of, wrt = ["sink.s", "remote.g"], ["source.a", "source.b", "source.c"]
    return [
        values(prob, "remote.a", "remote.b", "remote.c", "remote.f", "remote.g", "sink.s"),
        residuals,
        totals(prob, of, wrt),
    ]


def _sellar(connect, solver, linear):
    """Two remote disciplines, coupled, on a channel each."""
    prob = om.Problem(reports=False)
    model = prob.model
    cycle = model.add_subsystem("cycle", om.Group(), promotes=["*"])
    for number in (1, 2):
        remote = RemoteExplicitComponent(channel=connect(f"{OURS}:Sellar{number}"))
        cycle.add_subsystem(f"d{number}", remote, promotes=["*"])
    cycle.nonlinear_solver, cycle.linear_solver = solver, linear
    model.add_subsystem(
        "objective",
        om.ExecComp("obj = x**2 + z[1] + y1 + exp(-y2)", z=np.ones(2), x=1.0),
        promotes=["*"],
    )
    model.add_subsystem("con1", om.ExecComp("con1 = 3.16 - y1"), promotes=["*"])
    model.add_subsystem("con2", om.ExecComp("con2 = y2 - 24.0"), promotes=["*"])
    model.add_design_var("x", lower=0.0, upper=10.0)
    model.add_design_var("z", lower=0.0, upper=10.0)
    model.add_objective("obj")
    model.add_constraint("con1", upper=0.0)
    model.add_constraint("con2", upper=0.0)
    return prob


class Iterates(om.ExplicitComponent):
    """Keeps what passes through it."""

    def setup(self):
        self.log = []
        self.add_input("obj")

    def compute(self, inputs, outputs):
        self.log.append(inputs.asarray(copy=True))


def _optimised(prob, optimizer, **options):
    iterates = prob.model.add_subsystem("iterates", Iterates(), promotes=["*"])
    prob.driver = om.ScipyOptimizeDriver(optimizer=optimizer, disp=False, **options)
    prob.setup()
    prob.set_val("x", 1.0)
    prob.set_val("z", [5.0, 2.0])
    prob.run_driver()
    assert abs(prob.get_val("obj").item() - 3.18339) < 1e-2
    return [values(prob, "x", "z", "y1", "y2", "obj"), iterates.log]


def sellar_gauss_seidel(connect):
    solver = om.NonlinearBlockGS(maxiter=30, rtol=1e-12, iprint=-1)
    linear = om.LinearBlockGS(maxiter=30, rtol=1e-12, iprint=-1)
    return _optimised(_sellar(connect, solver, linear), "SLSQP", tol=1e-8)


def sellar_newton(connect):
    solver = om.NewtonSolver(solve_subsystems=False, maxiter=20, iprint=-1)
    solver.linesearch = om.ArmijoGoldsteinLS(bound_enforcement="vector", iprint=-1)
    return _optimised(_sellar(connect, solver, om.DirectSolver()), "SLSQP", tol=1e-8)


def sellar_assembled(connect):
    prob = _sellar(
        connect,
        om.NewtonSolver(solve_subsystems=True, maxiter=20, iprint=-1),
        om.DirectSolver(assemble_jac=True),
    )
    prob.model.cycle.options["assembled_jac_type"] = "csc"
    return _optimised(prob, "SLSQP", tol=1e-8)


def sellar_without_gradients(connect):
    solver = om.NonlinearBlockJac(maxiter=60, rtol=1e-12, iprint=-1)
    return _optimised(_sellar(connect, solver, om.LinearBlockJac()), "COBYLA", tol=1e-4)


def implicit(connect):
    """An implicit component: solved by its own solver, by Newton, and coupled to another."""
    results = []
    for own_solver in (False, True):
        prob = om.Problem(reports=False)
        remote = RemoteImplicitComponent(channel=connect(f"{OURS}:Circle"))
        prob.model.add_subsystem("remote", remote, promotes=["u", "v", "r", "s"])
        feedback = om.ExecComp("s = 0.3 + 0.1 * sum(u)", u=np.zeros(3))
        prob.model.add_subsystem("feedback", feedback, promotes=["*"])
        prob.model.nonlinear_solver = om.NewtonSolver(
            solve_subsystems=own_solver, maxiter=25, iprint=-1
        )
        prob.model.linear_solver = om.DirectSolver()
        set_up(prob, r=[1.0, 2.0, 3.0], u=np.full(3, 0.9), v=np.full(3, 0.5))
        prob.model.run_apply_nonlinear()
        results += [
            values(prob, "u", "v", "s"),
            prob.model._residuals.asarray(copy=True),
            totals(prob, ["u", "v"], ["r"]),
        ]
    return results


def discrete(connect):
    prob = om.Problem(reports=False)
    remote = RemoteExplicitComponent(channel=connect(f"{OURS}:Table"))
    prob.model.add_subsystem("remote", remote, promotes=["*"])
    prob.setup()
    results = []
    for gain in (2.5, -1.0):
        prob.set_val("x", [1.0, 2.0, 3.0])
        prob["row"] = {"gain": gain, "name": f"by {gain}"}
        prob.run_model()
        prob.model.run_linearize()
        results += [values(prob, "y"), prob["told"], np.array(remote._jacobian["y", "x"])]
    return results


def approximated(connect):
    """Finite differences of the component, of the group around it, and checked partials."""
    results = []
    for approximate in ("totals", "partials", "check"):
        prob = om.Problem(reports=False)
        # In parallel where there is MPI, and one after the other where there is none.
        remote = RemoteExplicitComponent(channel=connect(f"{OURS}:Mixed"), num_par_fd=2)
        prob.model.add_subsystem("remote", remote, promotes=["*"])
        if approximate == "totals":
            prob.model.approx_totals(method="fd")
        prob.setup()
        if approximate == "partials":
            remote.declare_partials("f", "c", method="fd")
        for name, value in (("a", A), ("b", 0.7), ("c", C)):
            prob.set_val(name, value)
        prob.run_model()
        results.append(totals(prob, ["f", "g"], ["a", "b", "c"]))
        if approximate == "check":
            data = prob.check_partials(method="fd", out_stream=None)
            for block in data["remote"].values():
                assert np.allclose(block["J_fwd"], block["J_fd"], atol=1e-4)
                results.append(block["J_fwd"])
    return results


def on_one_channel(connect):
    """Two components of one server, which keeps one set of shapes, on one channel."""
    channel = connect(f"{OURS}:Mixed")
    prob = om.Problem(reports=False)
    for name in ("one", "two"):
        prob.model.add_subsystem(name, RemoteExplicitComponent(channel=channel))
    prob.model.connect("one.g", "two.c", src_indices=[0, 1, 2, 0], flat_src_indices=True)
    prob.setup()
    for name in ("one", "two"):
        prob.set_val(f"{name}.a", A)
        prob.set_val(f"{name}.b", 1.5)
    prob.set_val("one.c", C)
    prob.run_model()
    return [values(prob, "one.f", "two.g"), totals(prob, ["two.g"], ["one.a", "one.c", "two.a"])]


def recorded(connect):
    """What a recorder of each kind has kept."""
    prob = _sellar(connect, om.NonlinearBlockGS(maxiter=9, iprint=-1), om.LinearBlockGS(maxiter=9))
    recorder = om.SqliteRecorder("cases.sql", record_viewer_data=False)
    prob.model.cycle.nonlinear_solver.add_recorder(recorder)
    prob.driver.add_recorder(recorder)
    prob.model.cycle.d1.add_recorder(recorder)
    set_up(prob, x=1.0, z=[5.0, 2.0])
    prob.run_driver()
    prob.cleanup()
    reader = om.CaseReader(_outputs(prob) / "cases.sql")
    cases = []
    for source in reader.list_sources(out_stream=None):
        for case in reader.get_cases(source, recurse=False):
            kept = case.outputs
            cases.append({name: np.array(kept[name]) for name in kept} if kept is not None else {})
    assert len(cases) > 9
    return cases


def _outputs(prob):
    """OpenMDAO's directory for what a problem writes; older ones write beside the script."""
    get = getattr(prob, "get_outputs_dir", None)
    return Path(get() if get else ".")


def scalars(connect):
    prob = om.Problem(reports=False)
    remote = RemoteExplicitComponent(channel=connect(f"{OURS}:Scalars"))
    prob.model.add_subsystem("remote", remote, promotes=["*"])
    prob.setup()
    for at in range(200):
        prob.set_val(f"x{at}", at / 7 - 3)
    prob.run_model()
    of, wrt = [f"y{at}" for at in range(0, 200, 50)], [f"x{at}" for at in range(0, 200, 50)]
    return [prob.model._outputs.asarray(copy=True), totals(prob, of, wrt)]


def served_group(connect):
    """A group of OpenMDAO's, served over Philote, as a component of another problem."""
    prob = om.Problem(reports=False)
    remote = RemoteExplicitComponent(channel=connect("disciplines:sellar"))
    prob.model.add_subsystem("sellar", remote, promotes=["*"])
    set_up(prob, x=1.0, z=[5.0, 2.0])
    return [
        values(prob, "y1", "y2", "obj", "con1", "con2"),
        totals(prob, ["obj", "con1"], ["x", "z"]),
    ]


MODELS = (
    mixed,
    scaled,
    sellar_gauss_seidel,
    sellar_newton,
    sellar_assembled,
    sellar_without_gradients,
    implicit,
    discrete,
    approximated,
    on_one_channel,
    recorded,
    scalars,
    served_group,
)


@contextlib.contextmanager
def connections(servers, flavour, channel_to):
    """Give a function that opens a channel to the server of a discipline."""
    with contextlib.ExitStack() as stack:
        yield lambda name: stack.enter_context(channel_to(servers.address(name, flavour)))
