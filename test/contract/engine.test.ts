import { afterAll, beforeAll, describe, expect } from 'vitest';
import { ask } from '../real/ask.ts';
import { engineContract } from './engine.contract.ts';
import { type PracticeStack, startPractice } from './practice-stack.ts';

// Tests are declared before anything runs: where it listens is filled in when it does.
const real = { url: '', socket: '' };
let practice: PracticeStack;

describe('the practice engine', () => {
  beforeAll(async () => {
    practice = await startPractice();
    Object.assign(real, { url: practice.facts.engine, socket: practice.socket });
    const pulled = await ask(real, '/images/create?fromImage=busybox&tag=latest', { method: 'POST' });
    expect(pulled.body).toContain('Downloaded newer image');
  });
  afterAll(() => practice[Symbol.asyncDispose]());

  engineContract('docker', real);
});
