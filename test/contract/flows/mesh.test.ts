import { describeFlows } from './flow.contract.ts';
import { meshFlows } from './mesh.ts';

describeFlows(meshFlows);
