"""philote-mdo's examples, each run over a channel and reduced to the values it produced."""

import numpy as np
import openmdao.api as om
import philote_mdo.general as pmdo
from philote_mdo.openmdao import RemoteExplicitComponent, RemoteImplicitComponent
from scipy.optimize import minimize

ODD_VALUES = [0.0, -0.0, 5e-324, 1.7976931348623157e308, float("inf"), float("-inf"), float("nan")]


def prepared(client, options=None, num_double=None):
    """Take a client through the calls that come before a computation."""
    client.get_available_options()
    if options:
        client.send_options(options)
    if num_double:
        client._stream_options.num_double = num_double
    client.send_stream_options()
    client.run_setup()
    client.get_variable_definitions()
    client.get_partials_definitions()
    return client


def paraboloid(channel):
    client = prepared(pmdo.ExplicitClient(channel))
    values = [*np.random.default_rng(1).normal(size=10), *ODD_VALUES]
    points = [{"x": np.array([v]), "y": np.array([w])} for v in values for w in values[::3]]
    return [(client.run_compute(p), client.run_compute_partials(p)) for p in points]


def rosenbrock(channel):
    """Minimise with SciPy, and keep every point that the optimiser asked for."""
    client = prepared(pmdo.ExplicitClient(channel), {"dimension": 8})
    iterates = []

    def function(x):
        value = client.run_compute({"x": x})["f"]
        iterates.append((x.copy(), value))
        return value[0]

    def gradient(x):
        value = client.run_compute_partials({"x": x})["f", "x"]
        iterates.append((x.copy(), value))
        return value

    optimum = minimize(function, np.full(8, -1.2), jac=gradient, method="BFGS")
    assert optimum.fun < 1e-8
    return [*iterates, optimum.x]


def rosenbrock_chunked(channel):
    """A vector of many chunks, the last of them short, of a size that the user sets."""
    client = prepared(pmdo.ExplicitClient(channel), {"dimension": 2500}, num_double=37)
    point = {"x": np.random.default_rng(2).normal(size=2500)}
    return client.run_compute(point), client.run_compute_partials(point)


def quadratic(channel):
    client = prepared(pmdo.ImplicitClient(channel))
    results = []
    for a, b, c in np.random.default_rng(3).uniform(1.0, 9.0, size=(10, 3)):
        inputs = {"a": np.array([a]), "b": np.array([b + 20.0]), "c": np.array([-c])}
        solution = client.run_solve_residuals(inputs)
        results.append(solution)
        results.append(client.run_compute_residuals(inputs, solution))
        results.append(client.run_residual_gradients(inputs, solution))
    return results


def linear(channel):
    """An implicit vector that fits one chunk, so that stock can carry it."""
    client = prepared(pmdo.ImplicitClient(channel))
    inputs = {"b": np.random.default_rng(4).normal(size=5)}
    solution = client.run_solve_residuals(inputs)
    return [
        solution,
        client.run_compute_residuals(inputs, solution),
        client.run_residual_gradients(inputs, solution),
    ]


def sellar(channel):
    client = prepared(pmdo.ExplicitClient(channel))
    points = np.random.default_rng(5).uniform(1.0, 5.0, size=(3, 3))
    inputs = [{"x": p[:1].copy(), "z": p[1:].copy()} for p in points]
    return [(client.run_compute(p), client.run_compute_partials(p)) for p in inputs]


def flexible(channel):
    results = []
    for shape in ((7,), (1,), (3,)):
        client = prepared(pmdo.ExplicitClient(channel))
        types = {variable.name: variable.type for variable in client.get_dynamic_variables()}
        client.send_variable_shapes(
            [client.set_variable_shape(name, shape, kind) for name, kind in types.items()]
        )
        point = {"x": np.random.default_rng(6).normal(size=shape)}
        results.append(client.run_compute(point))
        # Stock's server preallocates (3,) by (3,) as (3, 3), and (1,) by (1,) as (1,).
        results.append(client.run_compute_partials(point))
    return results


def recorded(component_class):
    """Make a remote component that keeps a copy of what goes through its calls."""

    class Recorded(component_class):
        def keep(self, *vectors):
            log = self.__dict__.setdefault("log", [])
            log.append([{key: np.array(vector[key]) for key in vector} for vector in vectors])

        def compute(self, inputs, outputs, *discrete):
            super().compute(inputs, outputs, *discrete)
            self.keep(inputs, outputs)

        def solve_nonlinear(self, inputs, outputs, *discrete):
            super().solve_nonlinear(inputs, outputs, *discrete)
            self.keep(inputs, outputs)

        def apply_nonlinear(self, inputs, outputs, residuals, *discrete):
            super().apply_nonlinear(inputs, outputs, residuals, *discrete)
            self.keep(inputs, outputs, residuals)

    return Recorded


def openmdao_rosenbrock(channel):
    """Optimise through OpenMDAO; returns every evaluation, the optimum and the iteration count."""
    component = recorded(RemoteExplicitComponent)(channel=channel, dimension=6)
    prob = om.Problem(reports=False)
    prob.model.add_subsystem("rosenbrock", component, promotes=["*"])
    prob.model.add_design_var("x", lower=-5.0, upper=5.0)
    prob.model.add_objective("f")
    prob.driver = om.ScipyOptimizeDriver(optimizer="SLSQP", disp=False, maxiter=200, tol=1e-10)
    prob.setup()
    prob.set_val("x", np.full(6, -0.8))
    prob.run_driver()
    assert prob.get_val("f")[0] < 1e-8
    totals = prob.compute_totals(of=["f"], wrt=["x"])
    return component.log, totals, prob.driver.iter_count


def openmdao_paraboloid(channel):
    prob = om.Problem(reports=False)
    prob.model.add_subsystem("p", RemoteExplicitComponent(channel=channel), promotes=["*"])
    prob.setup()
    prob.set_val("x", 1.5)
    prob.set_val("y", -2.5)
    prob.run_model()
    return prob.get_val("f_xy"), prob.compute_totals(of=["f_xy"], wrt=["x", "y"])


def openmdao_quadratic(channel):
    component = recorded(RemoteImplicitComponent)(channel=channel)
    prob = om.Problem(reports=False)
    prob.model.add_subsystem("q", component, promotes=["*"])
    prob.model.nonlinear_solver = om.NewtonSolver(solve_subsystems=True, maxiter=20, iprint=-1)
    prob.model.linear_solver = om.DirectSolver()
    prob.setup()
    for name, value in (("a", 1.0), ("b", 2.0), ("c", -2.0)):
        prob.set_val(name, value)
    prob.run_model()
    return component.log, prob.get_val("x"), prob.compute_totals(of=["x"], wrt=["a", "b", "c"])


def openmdao_sellar(channel):
    prob = om.Problem(reports=False)
    prob.model.add_subsystem("sellar", RemoteExplicitComponent(channel=channel), promotes=["*"])
    prob.model.add_design_var("x", lower=0.0, upper=10.0)
    prob.model.add_design_var("z", lower=0.0, upper=10.0)
    prob.model.add_objective("obj")
    prob.model.add_constraint("con1", upper=0.0)
    prob.model.add_constraint("con2", upper=0.0)
    prob.driver = om.ScipyOptimizeDriver(optimizer="SLSQP", disp=False, tol=1e-8)
    prob.setup()
    prob.set_val("x", 1.0)
    prob.set_val("z", [5.0, 2.0])
    prob.run_driver()
    assert abs(prob.get_val("obj")[0] - 3.18339) < 1e-3
    return [prob.get_val(name) for name in ("x", "z", "y1", "y2", "obj")], prob.driver.iter_count


def openmdao_flexible(channel):
    """Shapes come from the connections on both sides of the remote component."""
    prob = om.Problem(reports=False)
    model = prob.model
    model.add_subsystem("source", om.IndepVarComp("x", np.arange(6.0), units="m"))
    model.add_subsystem("flexible", RemoteExplicitComponent(channel=channel))
    model.add_subsystem("sink", om.ExecComp("s = sum(y)", y={"shape": 6, "units": "m"}))
    model.connect("source.x", "flexible.x")
    model.connect("flexible.y", "sink.y")
    prob.setup()
    prob.run_model()
    return prob.get_val("flexible.y"), prob.compute_totals(of=["sink.s"], wrt=["source.x"])


EXAMPLES = {
    paraboloid: "philote_mdo.examples:Paraboloid",
    rosenbrock: "philote_mdo.examples:Rosenbrock",
    rosenbrock_chunked: "philote_mdo.examples:Rosenbrock",
    quadratic: "philote_mdo.examples:QuadradicImplicit",
    linear: "disciplines:LinearImplicit",
    sellar: "disciplines:sellar",
    flexible: "philote_mdo.examples.flexible:FlexibleDiscipline",
    openmdao_paraboloid: "philote_mdo.examples:Paraboloid",
    openmdao_rosenbrock: "philote_mdo.examples:Rosenbrock",
    openmdao_quadratic: "philote_mdo.examples:QuadradicImplicit",
    openmdao_sellar: "disciplines:sellar",
    openmdao_flexible: "philote_mdo.examples.flexible:FlexibleDiscipline",
}
