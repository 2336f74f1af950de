import { describeFlows } from './flow.contract.ts';
import { vaultFlows } from './vault.ts';

describeFlows(vaultFlows);
