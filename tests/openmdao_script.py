"""A user's script: an optimisation over two remote disciplines that it serves itself.

It knows nothing of philote_fast. It prints each iterate, every bit of it.
"""

from concurrent import futures

import grpc
import numpy as np
import openmdao.api as om
import philote_mdo.general as pmdo
from openmdao_disciplines import Sellar1, Sellar2
from philote_mdo.openmdao import RemoteExplicitComponent


def main():
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    other = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    channels = []
    for one, discipline in ((server, Sellar1()), (other, Sellar2())):
        pmdo.ExplicitServer(discipline=discipline).attach_to_server(one)
        port = one.add_insecure_port("127.0.0.1:0")
        one.start()
        channels.append(grpc.insecure_channel(f"127.0.0.1:{port}"))

    prob = om.Problem(reports=False)
    cycle = prob.model.add_subsystem("cycle", om.Group(), promotes=["*"])
    for number, channel in enumerate(channels):
        component = RemoteExplicitComponent(channel=channel)
        cycle.add_subsystem(f"d{number}", component, promotes=["*"])
    cycle.nonlinear_solver = om.NewtonSolver(solve_subsystems=True, maxiter=20, iprint=-1)
    cycle.linear_solver = om.DirectSolver()
    formula = "obj = x**2 + z[1] + y1 + exp(-y2)"
    prob.model.add_subsystem("objective", om.ExecComp(formula, z=np.ones(2)), promotes=["*"])
    prob.model.add_subsystem("con", om.ExecComp("con = 3.16 - y1"), promotes=["*"])
    prob.model.add_design_var("x", lower=0.0, upper=10.0)
    prob.model.add_design_var("z", lower=0.0, upper=10.0)
    prob.model.add_objective("obj")
    prob.model.add_constraint("con", upper=0.0)
    prob.driver = om.ScipyOptimizeDriver(optimizer="SLSQP", disp=False, tol=1e-8)
    prob.setup()
    prob.set_val("x", 1.0)
    prob.set_val("z", [5.0, 2.0])

    def tell(*_):
        values = np.concatenate([prob.get_val(name).ravel() for name in ("x", "z", "y1", "y2")])
        print(*(value.hex() for value in values), flush=True)

    component = prob.model.objective
    compute = component.compute
    component.compute = lambda *given: (compute(*given), tell())
    prob.run_driver()
    tell()
    for channel in channels:
        channel.close()
    for one in (server, other):
        one.stop(None).wait()


if __name__ == "__main__":
    main()
