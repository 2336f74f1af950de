import { Fault } from '../faults/fault.ts';
import { type CeremonyStatus, decodeRoot, RootGeneration } from '../products/key-ceremonies.ts';
import { VaultTokens } from '../products/vault-tokens.ts';
import type { Session } from '../session/session.ts';
import { vaultRootAbout } from './about-vault.ts';
import { collectShares } from './collect-shares.ts';
import type { Flow, FlowOutcome, FlowWorld, Todo } from './flow.ts';
import { handOutToken } from './hand-out-token.ts';
import { type OpenVault, openVaultOf, tokenFor } from './vault-open.ts';

/** Under which a run notes the nonce of its attempt. */
const begunStep = 'begun';

export const vaultRoot: Flow = {
  ...vaultRootAbout,
  async run(session, input, world) {
    if (!session.attended) throw unattended();
    const vault = await openVaultOf(session, input, world);
    if (session.rehearsing) return rehearsed(session, vault);
    const generation = await generationOf(session, world, vault);
    const status = await generation.status(session.signal);
    // Its one-time password went with the run that broke off.
    const isOwn = status.started && session.noted(begunStep).includes(status.nonce);
    const way = isOwn ? 'drop' : status.started ? await chooseWay(session, status) : 'begin';
    if (way === 'contribute') return contribute(session, generation, vault, status);
    if (status.started) await cancel(session, generation, vault, status.nonce, 'drop');
    // Without a trace of the attempt it may have come to its end.
    const isUnseen = !isOwn && session.noted(begunStep).length > 0;
    const begun = await session.act({
      id: 'start',
      right: 'reveal',
      request: `PUT /v1/${generation.path}/attempt`,
      target: vault.target,
      run: async (grant) => {
        const started = await generation.start(grant);
        session.hide(started.otp);
        await session.note(begunStep, started.status.nonce);
        return started;
      },
    });
    if (!begun) throw new Error('an act that is not rehearsed has an outcome');
    const encoded = await collectOwn(session, generation, vault, begun.status);
    const token = decodeRoot(encoded, begun.otp);
    session.hide(token);
    await handRootOut(session, vault, token);
    return {
      message: `${vault.component.id} has one more root token, and who asked for it has it.`,
      todo: { component: vault.component.id, items: todoOf(vault.component.id, isUnseen) },
    };
  },
};

function todoOf(id: string, isUnseen: boolean): Todo[] {
  const items: Todo[] = [
    {
      id: 'revoke-root',
      title: 'Revoke it when the work is done',
      detail: `It may do everything and never ends: quarterdeck vault revoke-root ${id}`,
      byHand: true,
    },
  ];
  if (isUnseen) {
    items.push({
      id: 'unseen-root',
      title: 'Look for a root token that nobody has',
      detail: `The run broke off before, perhaps when its token was made already. "vault revoke-root ${id}" counts the others.`,
      byHand: true,
    });
  }
  return items;
}

/** Older servers ask for no token, newer ones for one with every call. */
async function generationOf(session: Session, world: FlowWorld, { place, target }: OpenVault): Promise<RootGeneration> {
  try {
    return await RootGeneration.open(place, undefined, session.signal);
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code !== 'refused.ceremony') throw thrown;
  }
  const { token } = await tokenFor(session, world, target, {
    may: 'sudo on sys/generate-root-token/*',
    next: 'Then as many key shares are asked for as unseal it.',
  });
  return RootGeneration.open(place, token, session.signal);
}

/** Only who began an attempt can read the token that it makes. */
function chooseWay(session: Session, { progress, required }: CeremonyStatus): Promise<string> {
  return session.ask.choice({
    id: 'attempt',
    label: `Somebody began to make a root token; ${progress} of ${required} shares were given. What now?`,
    help: 'Only who began it can read the token. If nobody you know is at it, somebody else may be: cancel it, and look into the audit log of the server.',
    choices: [
      { value: 'contribute', label: 'Give a share to it', detail: 'the token goes to who began it' },
      { value: 'drop', label: 'Cancel it and begin anew', detail: 'the token comes to you' },
    ],
    initial: 'contribute',
    fresh: true,
  });
}

async function cancel(session: Session, generation: RootGeneration, { target }: OpenVault, nonce: string, id: string): Promise<void> {
  await session.act({
    id,
    right: 'operate',
    request: `DELETE /v1/${generation.path}/attempt`,
    target,
    run: (grant) => generation.cancel(grant, nonce),
  });
}

/** Whoever leaves takes the one-time password along, so that the attempt is worth nothing to anybody: it is cancelled. */
async function collectOwn(session: Session, generation: RootGeneration, vault: OpenVault, begun: CeremonyStatus): Promise<string> {
  try {
    return await collectShares(
      { session, ceremony: generation, target: vault.target, seal: vault.status, left: (_, cause) => cancelled(cause) },
      begun,
    );
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === 'interrupted.root' && !session.signal.aborted)
      await cancel(session, generation, vault, begun.nonce, 'cancel');
    throw thrown;
  }
}

async function contribute(session: Session, generation: RootGeneration, vault: OpenVault, status: CeremonyStatus): Promise<FlowOutcome> {
  const { id } = vault.component;
  const encoded = await collectShares(
    {
      session,
      ceremony: generation,
      target: vault.target,
      seal: vault.status,
      left: ({ progress, required }, cause) => leftAt(id, progress, required, cause),
    },
    status,
  );
  session.show({ kind: 'text', text: `Tell this to who began, who alone can read it: ${encoded}` });
  return { message: `The last share was given: who began has a root token of ${id} to read.` };
}

async function handRootOut(session: Session, { component, place, target }: OpenVault, token: string): Promise<void> {
  if (!(await new VaultTokens(place, token).self(session.signal)))
    throw new Fault({ code: 'failed.root', message: 'The server does not take the token that it made.', remedy: 'Begin anew.' });
  const root = { id: 'root', label: 'Root token', value: token, whose: 'who asked for it' };
  const lost = 'Nobody has it yet. It is revoked then: a root token that lies about is worse than none.';
  await handOutToken(session, { component, place, target }, root, lost);
}

function rehearsed(session: Session, { component, status }: OpenVault): FlowOutcome {
  session.show({
    kind: 'text',
    text: `Would begin an attempt, ask for ${status.threshold} of the ${status.shares} key shares, and show the root token once: PUT /v1/sys/generate-root-token/attempt, update (or sys/generate-root where the server is older)`,
  });
  return { message: `Rehearsed: no root token of ${component.id} was made.` };
}

function cancelled(cause: Fault): Fault {
  return new Fault({
    code: 'interrupted.root',
    message: 'No root token was made; the attempt was cancelled, since only who began it could have read the token.',
    remedy: 'Begin anew when enough holders are at hand.',
    cause,
  });
}

function leftAt(id: string, progress: number, required: number, cause: Fault): Fault {
  return new Fault({
    code: 'interrupted.cancelled',
    message: `The attempt stands at ${progress} of ${required} shares, and goes on without you.`,
    remedy: `Others go on with it: quarterdeck vault root ${id}`,
    cause,
  });
}

function unattended(): Fault {
  return new Fault({
    code: 'refused.unattended',
    message: 'A root token that nobody sees is worse than none: making one needs somebody at a terminal.',
    remedy: 'Run it in a terminal, with the holders at hand.',
  });
}
