// Owns what stands in for the machine's environment, home and platform.

/** Environment, home and platform in place of the process's own; what is left out is the process's own. */
export interface HostEnv {
  env?: Readonly<Record<string, string | undefined>> | undefined;
  home?: string | undefined;
  platform?: 'linux' | 'macos' | 'windows' | undefined;
}
