import { describe, expect, it } from 'vitest';
import { type Doubt, FileConditions } from './file-conditions.ts';

const config = {
  name: 'x',
  routers: { a: { service: 'one', tags: ['p', 'q'] }, b: { service: 'two' }, c: {} },
  services: { one: {} },
  list: [{ n: 1 }, { n: 2 }, 3],
};

describe('conditions of a file', () => {
  it.each<[when: string, at: (string | number)[], holding: unknown]>([
    ['config.name == "x"', ['name'], [['name']]],
    ['config.name == "y"', ['name'], []],
    ['config.nothing == 1', [], []],
    ['!(one.service in config.services)', ['routers', '*', 'service'], [['routers', 'b', 'service']]],
    ['!has(one.service)', ['routers', '*'], [['routers', 'c']]],
    ['one.n > 1', ['list', '*', 'n'], [['list', 1, 'n']]],
    ['key == size(config.list) - 1', ['list', '*'], [['list', 2]]],
    ['key == "b"', ['routers', '*'], [['routers', 'b']]],
    ['one == "q"', ['routers', '*', 'tags', '*'], [['routers', 'a', 'tags', 1]]],
    ['one == 1', ['nothing', '*'], []],
    ['one ==', ['list', '*'], []],
  ])('%s, at %j', (when, at, holding) => {
    expect(new FileConditions(config).holding(when, at)).toEqual(holding);
  });

  it.each<[doubt: Doubt, when: string, at: (string | number)[], count: number]>([
    [['name'], 'config.name == "x"', [], 0],
    [['name'], 'config.list.size() == 3', [], 1],
    [['name'], '!("nothing" in config)', [], 1],
    [['nothing'], '!has(config.nothing)', [], 0],
    [[], 'config.name == "x"', [], 0],
    [['routers', 'c', 'service'], '!has(one.service)', ['routers', '*'], 0],
    [['routers', 'c'], '!has(one.service)', ['routers', '*'], 0],
    [['list', 1], 'config.list.exists(one, one.n == 1)', [], 1],
    [['list', 1], 'config.list.exists(one, one.n == 2)', [], 0],
  ])('with %j in doubt: %s, at %j', (doubt, when, at, count) => {
    expect(new FileConditions(config, [doubt]).holding(when, at)).toHaveLength(count);
  });
});
