import { describeFlows } from './flow.contract.ts';
import { ssoFlows } from './sso.ts';

describeFlows(ssoFlows);
