/** The kinds of engine that the tests know, each really running where the machine allows. */
export const engineKinds = ['docker', 'podman', 'podman-rootless', 'docker-rootless'] as const;
export type RealEngineKind = (typeof engineKinds)[number];

/** The variable that names the socket of an engine that runs already; the same that `test/real/engines` prints. */
export const engineVariable: Readonly<Record<RealEngineKind, string>> = {
  docker: 'QUARTERDECK_TEST_DOCKER',
  podman: 'QUARTERDECK_TEST_PODMAN',
  'podman-rootless': 'QUARTERDECK_TEST_PODMAN_ROOTLESS',
  'docker-rootless': 'QUARTERDECK_TEST_DOCKER_ROOTLESS',
};

/** More Dockers, for tests that require one to themselves: they then wait less for each other. */
export const moreDockerVariables = [2, 3, 4, 5].map((number) => `QUARTERDECK_TEST_DOCKER_${number}`);

/** The same for the registry: `127.0.0.1:27180`. */
export const registryVariable = 'QUARTERDECK_TEST_REGISTRY';

/** What the set-up found or started, once for all files: where the engine is, or why there is none. */
export type EngineOffer = { url: string } | { missing: string };
export type EngineOffers = Readonly<Record<RealEngineKind, EngineOffer>>;

declare module 'vitest' {
  interface ProvidedContext {
    engineOffers: EngineOffers;
    /** Dockers beside the one that is offered. */
    moreDockers: string[];
    /** The registry that the engines pull from, as host and port, or why there is none. */
    registryOffer: { address: string } | { missing: string };
    /** The folder with the compose programs that come with the images; empty when there are no images. */
    composeFolder: string;
    /** The socket at which turns are asked for. */
    turns: string;
    /** A folder for what V8 compiled of the built program; it may not be there yet. */
    compiledCode: string;
  }
}
