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
  const { dangling: _dangling, ...facts } = imageFacts({ ...image, Labels: image.Config?.Labels });
  const digests = (image.RepoDigests ?? []).filter((digest) => !digest.startsWith('<none>'));
  return { ...facts, digests, architecture: image.Architecture ?? '' };
}
