import { testEngine } from './engine-kind.ts';

testEngine('podman');
testEngine('podman-rootless');
