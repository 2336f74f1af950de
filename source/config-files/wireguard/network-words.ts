import ipaddr from 'ipaddr.js';
import { isAddress } from '../../text/address-span.ts';

export function isNetwork(text: string): boolean {
  if (!text.includes('/')) return isAddress(text);
  return ipaddr.IPv6.isValidCIDR(text) || (ipaddr.IPv4.isValidCIDR(text) && isAddress(text.split('/')[0] ?? ''));
}

/** An address that a device can have, with or without its prefix. A zone is valid only on this machine, and /0 is every address. */
export const isOwnAddress = (text: string): boolean => isNetwork(text) && !text.includes('%') && !/\/0+$/.test(text);

export function isDomain(text: string): boolean {
  return (
    text.length <= 253 &&
    /^~?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?)(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?)*\.?$/i.test(text) &&
    !/^[\d.]+$/.test(text)
  );
}
