import { describeFlows } from './flow.contract.ts';
import { operationFlows } from './operations.ts';

describeFlows(operationFlows);
