import { expect, test } from 'vitest';
import { whoText } from './log-lead.ts';

test.each([
  ['gvmd', 16, 'vulnerabil…/gvmd'],
  ['gvmd', 30, 'vulnerability-scanner/gvmd    '],
  ['ospd-openvas', 16, 'vulnerability-s…'],
  ['vulnerability-scanner', 16, 'vulnerability-s…'],
])('whose a line is fits, and says the service as long as there is room: %s in %i columns', (service, columns, shown) => {
  expect(whoText({ component: 'nas/greenbone/vulnerability-scanner', service }, true, columns, '…')).toBe(shown);
});
