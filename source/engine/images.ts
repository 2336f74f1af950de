import { fullImageId } from './container-facts.ts';
import type { ImageDetail, ImageFacts } from './engine.ts';

/** From API 1.52 on, empty fields are omitted. */
export interface ListedImage {
  Id: string;
  RepoTags?: string[] | null;
  Size?: number;
  VirtualSize?: number;
  SharedSize?: number;
  Containers?: number;
  Labels?: Record<string, string> | null;
}

export function imageFacts(image: ListedImage): ImageFacts {
  const tags = (image.RepoTags ?? []).filter((tag) => tag !== '<none>:<none>');
  return {
    id: fullImageId(image.Id),
    tags,
    sizeBytes: image.Size ?? image.VirtualSize ?? 0,
    labels: image.Labels ?? {},
    dangling: tags.length === 0,
  };
}

export interface InspectedImage extends Pick<ListedImage, 'Id' | 'RepoTags' | 'Size' | 'VirtualSize'> {
  RepoDigests?: string[] | null;
  Architecture?: string;
  Config?: Pick<ListedImage, 'Labels'> | null;
}

export function imageDetail(image: InspectedImage): ImageDetail {
  return {
    id: fullImageId(image.Id),
    tags: (image.RepoTags ?? []).filter((tag) => tag !== '<none>:<none>'),
    digests: (image.RepoDigests ?? []).filter((digest) => !digest.startsWith('<none>')),
    architecture: image.Architecture ?? '',
    sizeBytes: image.Size ?? image.VirtualSize ?? 0,
    labels: image.Config?.Labels ?? {},
  };
}
