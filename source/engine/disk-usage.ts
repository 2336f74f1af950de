import { fullImageId, type ListedContainer } from './container-facts.ts';
import type { DiskUsage, ImageFacts } from './engine.ts';
import { imageFacts, type ListedImage } from './images.ts';
import type { ListedVolumes } from './networks.ts';

type RawContainer = Pick<ListedContainer, 'Id' | 'Names' | 'State'> & { SizeRw?: number };
type RawVolume = NonNullable<ListedVolumes['Volumes']>[number] & { UsageData?: { Size?: number; RefCount?: number } | null };

interface RawBuildCache {
  ID: string;
  Size?: number;
  InUse?: boolean;
}

/** `GET /system/df`: arrays up to API 1.51, `…Usage` objects from 1.52 on, both in between. */
export interface RawDiskUsage {
  Images?: ListedImage[] | null;
  Containers?: RawContainer[] | null;
  Volumes?: RawVolume[] | null;
  BuildCache?: RawBuildCache[] | null;
  ImagesUsage?: { Items?: ListedImage[] | null } | null;
  ContainersUsage?: { Items?: RawContainer[] | null } | null;
  VolumesUsage?: { Items?: RawVolume[] | null } | null;
  BuildCacheUsage?: { Items?: RawBuildCache[] | null } | null;
}

export function dockerDiskUsage(raw: RawDiskUsage): DiskUsage {
  const images = raw.ImagesUsage?.Items ?? raw.Images ?? [];
  const containers = raw.ContainersUsage?.Items ?? raw.Containers ?? [];
  const volumes = raw.VolumesUsage?.Items ?? raw.Volumes ?? [];
  const buildCache = raw.BuildCacheUsage?.Items ?? raw.BuildCache ?? [];
  return {
    images: images.map((image) => ({
      ...imageFacts(image),
      containers: atLeastZero(image.Containers),
      sharedBytes: atLeastZero(image.SharedSize),
    })),
    containers: containers.map(({ Id, Names, State, SizeRw }) => ({
      id: Id,
      name: (Names?.[0] ?? Id.slice(0, 12)).replace(/^\//, ''),
      state: State ?? '',
      sizeBytes: atLeastZero(SizeRw),
    })),
    volumes: volumes.map((volume) => ({
      name: volume.Name,
      // -1: the volume's driver does not report it.
      sizeBytes: (volume.UsageData?.Size ?? -1) < 0 ? undefined : volume.UsageData?.Size,
      usedBy: atLeastZero(volume.UsageData?.RefCount),
      anonymous: isAnonymous(volume.Name, volume.Labels),
    })),
    buildCache: buildCache.map(({ ID, Size, InUse }) => ({ id: ID, sizeBytes: atLeastZero(Size), inUse: InUse === true })),
  };
}

/** `GET /libpod/system/df`: an image is listed once for each of its tags. Podman's Docker-compatible answer has tags without a name. */
export interface LibpodDiskUsage {
  Images?: { Repository?: string; Tag?: string; ImageID: string; Size?: number; SharedSize?: number; Containers?: number }[] | null;
  Containers?: { ContainerID: string; Names?: string; Status?: string; RWSize?: number }[] | null;
  Volumes?: { VolumeName: string; Links?: number; Size?: number }[] | null;
}

/** `images` and `volumeLabels` come from the lists, which contain data that this response lacks: all tags, and labels. */
export function podmanDiskUsage(
  raw: LibpodDiskUsage,
  images: readonly ImageFacts[],
  volumeLabels: ReadonlyMap<string, Readonly<Record<string, string>>>,
): DiskUsage {
  const listed = new Map(images.map((image) => [image.id, image]));
  const used = new Map<string, DiskUsage['images'][number]>();
  for (const { Repository, Tag, ImageID, Size, SharedSize, Containers } of raw.Images ?? []) {
    const id = fullImageId(ImageID);
    if (used.has(id)) continue;
    const tagged = Repository && Repository !== '<none>' && Tag && Tag !== '<none>';
    const tags = tagged ? [`${Repository}:${Tag}`] : [];
    const facts = listed.get(id) ?? { id, tags, sizeBytes: Size ?? 0, labels: {}, dangling: tags.length === 0 };
    used.set(id, {
      ...facts,
      sizeBytes: Size ?? facts.sizeBytes,
      containers: atLeastZero(Containers),
      sharedBytes: atLeastZero(SharedSize),
    });
  }
  return {
    images: [...used.values()],
    containers: (raw.Containers ?? []).map(({ ContainerID, Names, Status, RWSize }) => ({
      id: ContainerID,
      name: Names ?? ContainerID.slice(0, 12),
      state: Status ?? '',
      sizeBytes: atLeastZero(RWSize),
    })),
    volumes: (raw.Volumes ?? []).map(({ VolumeName, Links, Size }) => ({
      name: VolumeName,
      sizeBytes: Size,
      usedBy: atLeastZero(Links),
      anonymous: isAnonymous(VolumeName, volumeLabels.get(VolumeName)),
    })),
    buildCache: [],
  };
}

/** Docker marks anonymous volumes since 24; before that, and on Podman, they have a name of 64 hex digits. */
export function isAnonymous(name: string, labels: Readonly<Record<string, string>> | null | undefined): boolean {
  return (labels !== null && labels !== undefined && 'com.docker.volume.anonymous' in labels) || /^[0-9a-f]{64}$/.test(name);
}

const atLeastZero = (count: number | undefined): number => Math.max(0, count ?? 0);
