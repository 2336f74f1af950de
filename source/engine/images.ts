import { fullImageId } from './container-facts.ts';
import type { ImageDetail, ImageFacts } from './engine.ts';

/** One entry of `GET /images/json`; from API 1.52 on fields that are empty are left out. */
export interface ListedImage {
  Id: string;
  RepoTags?: string[] | null;
  Size?: number;
  VirtualSize?: number;
  SharedSize?: number;
  Containers?: number;
  Created?: number;
  Labels?: Record<string, string> | null;
}

export function imageFacts(image: ListedImage): ImageFacts {
  const tags = (image.RepoTags ?? []).filter((tag) => tag !== '<none>:<none>');
  return {
    id: fullImageId(image.Id),
    tags,
    sizeBytes: image.Size ?? image.VirtualSize ?? 0,
    createdMs: (image.Created ?? 0) * 1000,
    labels: image.Labels ?? {},
    dangling: tags.length === 0,
  };
}

/** `GET /images/{name}/json`. */
export interface InspectedImage {
  Id: string;
  RepoTags?: string[] | null;
  RepoDigests?: string[] | null;
  Architecture?: string;
  /** With time zone; Docker leaves it out, or says year 1, where an image does not tell. */
  Created?: string;
  Size?: number;
  VirtualSize?: number;
  Config?: { Labels?: Record<string, string> | null } | null;
}

export function imageDetail(image: InspectedImage): ImageDetail {
  const createdMs = Date.parse(image.Created ?? '');
  return {
    id: fullImageId(image.Id),
    tags: (image.RepoTags ?? []).filter((tag) => tag !== '<none>:<none>'),
    digests: (image.RepoDigests ?? []).filter((digest) => !digest.startsWith('<none>')),
    architecture: image.Architecture ?? '',
    sizeBytes: image.Size ?? image.VirtualSize ?? 0,
    createdMs: createdMs > 0 ? createdMs : 0,
    labels: image.Config?.Labels ?? {},
  };
}
