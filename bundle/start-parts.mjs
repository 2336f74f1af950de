// What every start of the console loads, by file of dist/chunks. A verb that shows no screen loads no `screen`.
export const startParts = {
  main: ['source/main.ts'],
  deck: ['source/terminal/open-deck.ts', 'source/engine/dockerode-engine.ts', 'node_modules/dockerode/lib/docker.js'],
  screen: ['source/console/run-console.tsx'],
};
