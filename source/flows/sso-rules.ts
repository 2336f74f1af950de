import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';
import { ssoRulesAbout } from './about-sso.ts';
import type { Flow } from './flow.ts';
import { portalOf } from './sso-target.ts';

export const ssoRules: Flow = {
  ...ssoRulesAbout,
  async run(session, input, world) {
    const { id, config } = await portalOf(session, input, world);
    const { rules, defaultPolicy } = config;
    session.show({
      kind: 'table',
      columns: ['rule', 'domain', 'policy', 'only for'],
      align: ['right', 'left', 'left', 'left'],
      rows: [
        ...rules.map(({ domains, policy, criteria }, index) => [
          String(index + 1),
          cleanLine(domains.join(', ')),
          cleanLine(policy),
          cleanLine(criteria.join('; ')),
        ]),
        ['', 'everything else', cleanLine(defaultPolicy), ''],
      ],
    });
    return {
      message: `${id} has ${countText(rules.length, 'rule')}; the first that matches wins, and where none does the policy is ${cleanLine(defaultPolicy)}.`,
      data: {
        rules: rules.map(({ domains, policy, criteria }) => ({ domains: [...domains], policy, criteria: [...criteria] })),
        defaultPolicy,
      },
    };
  },
};
