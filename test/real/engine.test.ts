import { testEngine } from './engine-kind.ts';

testEngine('docker');
testEngine('docker-rootless');
