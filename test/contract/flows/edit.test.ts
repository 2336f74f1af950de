import { changeFlows } from './changes.ts';
import { describeFlows } from './flow.contract.ts';

describeFlows(changeFlows('edit'));
