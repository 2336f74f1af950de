import { describe, expect, it } from 'vitest';
import { jsonPatch, mergePatch, strategicPatch } from './patching.ts';

describe('patches', () => {
  it('merge: null removes, lists are replaced', () => {
    expect(mergePatch({ a: 1, b: { c: 2, d: [1, 2] } }, { a: null, b: { d: [3] } })).toEqual({ b: { c: 2, d: [3] } });
  });

  it('strategic: known lists are merged by their key', () => {
    const node = {
      spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] },
      status: { conditions: [{ type: 'Ready', status: 'True', reason: 'x' }] },
    };
    expect(
      strategicPatch(node, {
        spec: { taints: [{ key: 'b', effect: 'NoExecute' }] },
        status: { conditions: [{ type: 'Ready', status: 'False' }] },
      }),
    ).toEqual({
      spec: {
        taints: [
          { key: 'a', effect: 'NoSchedule' },
          { key: 'b', effect: 'NoExecute' },
        ],
      },
      status: { conditions: [{ type: 'Ready', status: 'False', reason: 'x' }] },
    });
    expect(strategicPatch(node, { spec: { taints: [{ $patch: 'delete', key: 'a' }] } })).toMatchObject({ spec: { taints: [] } });
    expect(strategicPatch(node, { spec: { $patch: 'replace', unschedulable: true } })).toMatchObject({ spec: { unschedulable: true } });
  });

  it('JSON: adds, replaces, removes, tests, with escapes in paths', () => {
    const target = { metadata: { labels: { 'a/b': '1' } }, list: [1, 2] };
    expect(
      jsonPatch(target, [
        { op: 'test', path: '/metadata/labels/a~1b', value: '1' },
        { op: 'replace', path: '/metadata/labels/a~1b', value: '2' },
        { op: 'add', path: '/list/1', value: 9 },
        { op: 'add', path: '/list/-', value: 3 },
        { op: 'remove', path: '/list/0' },
      ]),
    ).toEqual({ metadata: { labels: { 'a/b': '2' } }, list: [9, 2, 3] });
    expect(target.list).toEqual([1, 2]);
    expect(() => jsonPatch(target, [{ op: 'test', path: '/list/0', value: 7 }])).toThrow('the server rejected our request');
    expect(() => jsonPatch(target, [{ op: 'remove', path: '/nothing' }])).toThrow('the server rejected our request');
  });
});
