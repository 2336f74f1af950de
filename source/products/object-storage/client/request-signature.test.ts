import { describe, expect, test } from 'vitest';
import { emptyHash, encodedPath, linkQuery, linkWindow, signedHeaders } from './request-signature.ts';

/** The examples of the S3 documentation ("Authenticating Requests: Using the Authorization Header" and "Using Query Parameters"). */
const keys = { accessKey: 'AKIAIOSFODNN7EXAMPLE', secretKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY', region: 'us-east-1' };
const nowMs = Date.UTC(2013, 4, 24);
const host = 'examplebucket.s3.amazonaws.com';
const signatureOf = (headers: Record<string, string>) => /Signature=(\w+)$/.exec(headers['authorization'] ?? '')?.[1];

describe('signed requests, as S3 documents them (R40)', () => {
  test('reading a part of an object', () => {
    const part = { method: 'GET', path: '/test.txt', query: {}, headers: { host, range: 'bytes=0-9' } };
    const headers = signedHeaders(part, keys, emptyHash, nowMs);
    expect(headers['authorization']).toBe(
      'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    );
  });

  test('storing one, with a name that has to be encoded', () => {
    const part = {
      method: 'PUT',
      path: encodedPath('/test$file.text'),
      query: {},
      headers: { host, date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
    };
    const hash = '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072';
    expect(signatureOf(signedHeaders(part, keys, hash, nowMs))).toBe('98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd');
  });

  test('listing, with a query', () => {
    const part = { method: 'GET', path: '/', query: { prefix: 'J', 'max-keys': '2' }, headers: { host } };
    expect(signatureOf(signedHeaders(part, keys, emptyHash, nowMs))).toBe(
      '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    );
  });

  test('a link that is good for a day, and its window', () => {
    const query = linkQuery({ method: 'GET', path: '/test.txt', query: {}, headers: { host } }, keys, { nowMs, seconds: 86_400 });
    expect(query).toContain('&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404');
    expect(linkWindow(new URL(`https://${host}/test.txt?${query}`))).toEqual({ fromMs: nowMs, untilMs: nowMs + 86_400_000 });
  });

  test('what says no window, or nonsense', () => {
    for (const query of [
      '',
      '?X-Amz-Date=20130524T000000Z',
      '?X-Amz-Date=2013&X-Amz-Expires=60&X-Amz-Signature=a',
      '?X-Amz-Date=20139924T000000Z&X-Amz-Expires=60&X-Amz-Signature=a',
    ])
      expect(linkWindow(new URL(`https://${host}/a${query}`))).toBeUndefined();
  });

  test('names that an address would change stay as they are', () => {
    expect(encodedPath("/b/a//../ü (1)'*!+~.txt")).toBe('/b/a//../%C3%BC%20%281%29%27%2A%21%2B~.txt');
  });
});
