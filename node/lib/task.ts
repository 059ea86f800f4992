// Owns the types of a server's tasks.

/** How far a task is. */
export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** Work of a server that goes on after its call was answered, with all that the server says of it. */
export interface Task {
  /** Its id at its server, for the option `resumeTask` of a later call. */
  taskId: string;
  status: TaskStatus;
  statusMessage?: string;
  /** How long the server keeps it, from its creation. */
  ttlMs?: number;
  /** How often the server wants to be asked about it. */
  pollIntervalMs?: number;
  [more: string]: unknown;
}
