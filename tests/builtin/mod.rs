mod calculator;
mod file_escape;
mod file_interrupted;
mod file_read;
mod file_write;
mod playground;
mod python;
