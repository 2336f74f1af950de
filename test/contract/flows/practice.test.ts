import { describeFlows } from './flow.contract.ts';
import { practiceFlows } from './practice.ts';

describeFlows(practiceFlows);
