import { fullImageId } from './container-facts.ts';
import type { ImageFacts } from './engine.ts';

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
