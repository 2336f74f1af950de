import { crowdsecFlows } from './crowdsec.ts';
import { describeFlows } from './flow.contract.ts';

describeFlows(crowdsecFlows);
