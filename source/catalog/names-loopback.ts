/** Is the host of this address the machine that asks? `http://localhost:1`, `127.0.0.1:80`, `jdbc:postgresql://[::1]/x`, `user:pass@localhost`. */
export function namesLoopback(address: string): boolean {
  return /(?:^|:\/\/|@)(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?|0:0:0:0:0:0:0:1)(?=$|[:/?,])/i.test(address.trim());
}
