import { exitRoutes, type MeshState, type Node, type NodeRoute, type PreAuthKey, taggedDevices } from './mesh-state.ts';
import { apiKeySchema, encode, keySchema, type Message, nodeSchema, routeSchema, type Schema, type Style, userSchema } from './wire.ts';

type Body = Record<string, unknown>;

/** One kind of thing in the words of this version, as the API and the command line tell it. */
export class Told {
  readonly state: MeshState;

  constructor(state: MeshState) {
    this.state = state;
  }

  tell(message: object, schema: Schema, style: Style): Body {
    return encode(message as Message, schema, style, this.state.minor);
  }

  user(user: object, style: Style = 'rest'): Body {
    return this.tell(user, userSchema, style);
  }

  /** From 0.28 on the secret part of a key is told once, at its creation. */
  key(key: PreAuthKey, style: Style = 'rest', whole = false): Body {
    const shown = whole || this.state.minor < 28 ? key.key : `${key.key.slice(0, 'hskey-auth-'.length + 12)}-***`;
    return this.tell({ ...key, key: shown, userName: key.user?.name ?? '' }, keySchema, style);
  }

  /** In lists a tagged node belongs to a user that is none. */
  node(node: Node, style: Style = 'rest', inList = false): Body {
    const user = inList && node.tags.length > 0 && this.state.minor >= 28 ? taggedDevices : node.user;
    const routes = this.state.routesOf(node);
    return this.tell({ ...node, user, subnetRoutes: routes, forcedTags: node.tags, validTags: [], invalidTags: [] }, nodeSchema, style);
  }

  /** One of the routes of versions until 0.25. */
  route({ id, node, prefix }: NodeRoute): Body {
    const [enabled, advertised] = [node.approvedRoutes.includes(prefix), node.availableRoutes.includes(prefix)];
    const isPrimary = this.state.routesOf(node).includes(prefix) && !exitRoutes.includes(prefix);
    const forcedTags = node.tags;
    const shown = { ...node, forcedTags, validTags: [], invalidTags: [] };
    const times = { createdAt: node.createdAt, updatedAt: node.createdAt, deletedAt: null };
    return this.tell({ id, node: shown, prefix, advertised, enabled, isPrimary, ...times }, routeSchema, 'rest');
  }

  apiKeys(style: Style = 'rest'): Body[] {
    const { apiKeys, minor } = this.state;
    return apiKeys.map((key) =>
      this.tell({ ...key, prefix: minor >= 28 ? `hskey-api-${key.prefix}-***` : key.prefix }, apiKeySchema, style),
    );
  }
}
