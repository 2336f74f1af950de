import type { NetworkFacts, VolumeFacts } from './engine.ts';

export interface ListedNetwork {
  Name: string;
  Driver?: string;
  Labels?: Record<string, string> | null;
  IPAM?: { Config?: { Subnet?: string }[] | null } | null;
}

export function networkFacts({ Name, Driver, Labels, IPAM }: ListedNetwork): NetworkFacts {
  return {
    name: Name,
    driver: Driver ?? '',
    labels: Labels ?? {},
    subnets: (IPAM?.Config ?? []).flatMap(({ Subnet }) => (Subnet ? [Subnet] : [])),
  };
}

export interface ListedVolumes {
  Volumes?: { Name: string; Labels?: Record<string, string> | null; Mountpoint?: string }[] | null;
}

export function volumeFacts({ Volumes }: ListedVolumes): VolumeFacts[] {
  return (Volumes ?? []).map(({ Name, Labels, Mountpoint }) => ({ name: Name, labels: Labels ?? {}, mountpoint: Mountpoint ?? '' }));
}
