import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { ownPaths } from './config/paths.ts';

// Compiling the bundle is half of the way to the first frame; the cache remembers it from the run before. It must be there before the
// rest is loaded. Where it cannot be written, node goes on without.
enableCompileCache(join(ownPaths(process.env, process.env.HOME || homedir()).cache, 'compiled'));
await import('./program.ts');
